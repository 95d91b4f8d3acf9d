"""What names lead to, by every way: dlsym, cuGetProcAddress and the symbols of the loader."""
