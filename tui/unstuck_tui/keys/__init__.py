"""Actions, their keys, and the keys and settings that a person has chosen for them."""
