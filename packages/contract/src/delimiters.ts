/** What may separate the cells of a text file. */
export const DELIMITERS = [',', ';', '\t', '|'] as const
/** One of them. */
export type Delimiter = (typeof DELIMITERS)[number]
