"""Control over a run from its screen: questions answered, tasks stepped into, files taken over, places opened."""
