/** Clears the screen, sets the title of the window, rings, ends the line, turns text around; and markup and a formula. */
export const NAME = '=1+\u001b[2J\u001b]0;owned\u0007\r\u009b31m\u202e<b>"&\'\ufffe';
export const HARMLESS = /^[\n\t\u0020-\u007e\u00a0-\u2027\u202f-\ud7ff\ue000-\ufffd]*$/;
