"""The page: runs of a project in a browser, to read and to answer. It knows neither the screen nor its commands."""
