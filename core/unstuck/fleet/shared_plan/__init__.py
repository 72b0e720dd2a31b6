"""One plan on many machines: hosts claim tasks of a run, work each as a small run, and its owner integrates them."""
