"""scikit-learn's own tests of naive Bayes, discriminant analysis and logistic regression, on bayesclf's classifiers.

`helpers.sklearn_adapter` gives these scikit-learn's constructors. What is left out is listed with its reason; all other
tests must pass, and as many as are on record, so that none vanishes without a word.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHER_WORDS = "bayesclf refuses this too, in a sentence of its own"
OWN = "is about a class, a function or an option that scikit-learn alone has"
SOLVERS = "is about iterations, warm starts, callbacks or warnings of scikit-learn's solvers"
ONE_CLASS = "fits rows of one class, or partial_fit without all classes, which bayesclf answers otherwise"
SINGLE = "asks for answers in single precision, which bayesclf computes in double"
ESTIMATE = "asks for an estimate that does not exist, where scikit-learn adds a little to variances or counts"
FREE = "asks for more or less than bayesclf does: missing cells are taken, covariances are always there"

LEFT_OUT = {
    "sklearn.tests.test_naive_bayes": {
        OTHER_WORDS: """
            test_gnb test_gnb_neg_priors test_gnb_wrong_nb_priors test_gnb_prior_greater_one test_mnnb
            test_discretenb_provide_prior
        """,
        OWN: """
            test_gnb_check_update_with_no_data test_categoricalnb test_categoricalnb_with_min_categories
            test_categoricalnb_min_categories_errors test_alpha test_alpha_vector test_check_alpha test_cnb
            test_gnb_array_api_compliance
        """,
        ONE_CLASS: """
            test_NB_partial_fit_no_first_classes test_discretenb_degenerate_one_class_case
        """,
        ESTIMATE: """
            test_check_accuracy_on_digits test_predict_joint_proba
        """,
    },
    "sklearn.tests.test_discriminant_analysis": {
        OTHER_WORDS: """
            test_lda_priors
        """,
        OWN: """
            test_lda_predict test_lda_transform test_lda_solver_agreement test_lda_explained_variance_ratio
            test_lda_orthogonality test_lda_dimension_warning test_lda_shrinkage test_lda_ledoitwolf
            test_qda_covariance_estimator test_qda_ledoitwolf test_qda_coefs test_qda_regularization test_covariance
            test_get_feature_names_out test_qda_shrinkage_performance test_qda_solver_agreement
        """,
        SINGLE: """
            test_lda_dtype_match
        """,
        FREE: """
            test_lda_store_covariance test_qda_store_covariance test_qda
            test_raises_value_error_on_same_number_of_classes_and_samples
            test_raises_value_error_on_one_sample_per_class
        """,
    },
    "sklearn.linear_model.tests.test_logistic": {
        OTHER_WORDS: """
            test_inconsistent_input
        """,
        OWN: """
            test_check_solver_option test_elasticnet_l1_ratio_err_helpful test_sparsify test_consistency_path
            test_write_parameters test_logistic_cv test_logistic_cv_refit_false_non_elasticnet test_logreg_l1
            test_logistic_cv_mock_scorer test_logistic_cv_multinomial_score test_multinomial_cv_iris
            test_logistic_cv_folds_with_classes_missing test_logistic_cv_sparse test_elastic_net_coeffs
            test_logistic_regressioncv_class_weights test_logistic_regression_sample_weights test_penalty_none
            test_logistic_regression_solver_class_weights test_logistic_regression_class_weights
            test_sample_and_class_weight_equivalence_liblinear test_liblinear_decision_function_zero
            test_logreg_intercept_scaling_zero test_logistic_regression_cv_refit test_get_default_scorer
            test_logreg_predict_proba_multinomial test_elastic_net_l1_l2_equivalence test_elastic_net_vs_l1_l2
            test_LogisticRegression_elastic_net_objective test_LogisticRegressionCV_GridSearchCV_elastic_net
            test_LogisticRegressionCV_no_refit test_LogisticRegressionCV_elasticnet_attribute_shapes
            test_LogisticRegressionCV_on_folds test_l1_ratio_non_elasticnet test_elastic_net_versus_sgd
            test_logistic_regression_path_coefs_multinomial test_logistic_regression_path_init_coefs
            test_logistic_regression_path_convergence_fail test_scores_attribute_layout_elasticnet
            test_lr_cv_scores_differ_when_sample_weight_is_requested test_liblinear_multiclass_raises
            test_lr_cv_scores_without_enabling_metadata_routing test_penalty_deprecated test_lr_scoring_warns
            test_logisticregressioncv_warns_with_use_legacy_attributes test_l1_ratio_None_deprecated
            test_logisticregression_warns_with_n_jobs test_lr_penalty_l1ratio_incompatible
            test_logistic_regression_array_api_compliance test_logistic_regression_array_api_warm_start
            test_passing_params_without_enabling_metadata_routing test_saga_vs_liblinear
            test_multinomial_logistic_regression_string_inputs test_large_sparse_matrix
        """,
        SOLVERS: """
            test_liblinear_dual_random_state test_max_iter test_n_iter test_warm_start test_zero_max_iter
            test_warm_start_newton_solver test_warm_start_converge_LR test_newton_cholesky_fallback_to_lbfgs
            test_logistic_regression_solvers_multiclass test_logistic_regression_callback_support
            test_logistic_regression_callback_fitted_estimator test_logistic_regression_callback_support_warning
        """,
        SINGLE: """
            test_dtype_match
        """,
        FREE: """
            test_nan test_liblinear_with_large_values
        """,
    },
}
PASSES = {
    "sklearn.tests.test_naive_bayes": 30,
    "sklearn.tests.test_discriminant_analysis": 15,
    "sklearn.linear_model.tests.test_logistic": 27,
}
"""Tests that pass, with scikit-learn 1.9, by module."""


@pytest.mark.slow
@pytest.mark.parametrize("module", LEFT_OUT)
def test_scikit_learns_own_tests(module, tmp_path):
    root = Path(__file__).parents[2]
    results = tmp_path / "results.json"
    left_out = [name for names in LEFT_OUT[module].values() for name in names.split()]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
        "SKLEARN_SUITE_RESULTS": str(results),
        "SKLEARN_SUITE_LEFT_OUT": json.dumps(left_out),
    }
    options = ["-q", "-p", "helpers.sklearn_adapter", "-p", "no:cacheprovider", "-W", "ignore", "--tb=line"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *options,
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        "--pyargs",
        module,
    ]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False).stdout
    outcomes = json.loads(results.read_text())
    assert [name for name, outcome in outcomes.items() if outcome == "failed"] == [], said[-3000:]
    assert sum(outcome == "passed" for outcome in outcomes.values()) == PASSES[module]
