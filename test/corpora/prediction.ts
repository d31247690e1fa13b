/** A case of a corpus: its `input` and further fields, such as `expected`. */
export type CorpusCase = Readonly<Record<string, unknown>>

/** The values predicted for a case, as JSON. */
export type Prediction = Readonly<Record<string, unknown>>
