/** The file that `-` names where a command reads one. */
export const STANDARD_INPUT = '/dev/stdin';
