package butterfly
