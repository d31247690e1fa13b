/** A case of a corpus: its input, and what else the line tells of it. */
export type CorpusCase = Readonly<Record<string, unknown>>

/** What is predicted for a case; plain JSON. */
export type Prediction = Readonly<Record<string, unknown>>
