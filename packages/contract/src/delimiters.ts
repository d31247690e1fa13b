/** Characters that may separate the cells of a text file. */
export const DELIMITERS = [',', ';', '\t', '|'] as const
/** Character that separates the cells of a text file. */
export type Delimiter = (typeof DELIMITERS)[number]

/** Delimiters by how a request may name them: the character itself, or its name. */
export const DELIMITER_NAMES: ReadonlyMap<string, Delimiter> = new Map([
  ...DELIMITERS.map((delimiter) => [delimiter, delimiter] as const),
  ['comma', ','],
  ['semicolon', ';'],
  ['tab', '\t'],
  ['bar', '|'],
])

/** The error for an unknown delimiter. */
export const DELIMITER_WANTED =
  '`delimiter` must be comma, semicolon, tab or bar, or one of these signs.'
