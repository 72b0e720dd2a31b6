"""Names of a failure: error type, category, failure type, cause, and the hint that goes with them."""
