/** An export as a program writes it, and which of its columns hold subjects. */
export interface ExportCase {
  readonly name: string
  /** The header line, with preceding lines if the program writes some. */
  readonly header: string
  /** A plausible record. */
  readonly row: string
  /** Columns by name, separated by `|`; absent if there is none. */
  readonly email?: string
  readonly phone?: string
  readonly ip?: string
  readonly domain?: string
}
