"""What each view of a log shows, from the recorded calls alone: it knows neither options nor files."""
