/** Characters that may separate the cells of a text file. */
export const DELIMITERS = [',', ';', '\t', '|'] as const
/** Character that separates the cells of a text file. */
export type Delimiter = (typeof DELIMITERS)[number]
