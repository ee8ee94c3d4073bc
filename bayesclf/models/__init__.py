"""What an engine conditions on data: generative models, and logistic regression."""
