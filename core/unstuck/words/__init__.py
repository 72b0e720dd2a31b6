"""Words shown to people: amounts and suggestions. A leaf that knows nothing of the product."""
