"""What a fitted model says: explanations of single rows, contributions of features, logistic weights."""
