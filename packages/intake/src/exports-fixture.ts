/** An export as a program writes it, and which of its columns hold what. */
export interface ExportCase {
  readonly name: string
  /** The header line, with the lines above it where the program writes some. */
  readonly header: string
  /** A record that somebody may have. */
  readonly row: string
  /** Columns by name, divided by `|`; absent if there is none. */
  readonly email?: string
  readonly phone?: string
  readonly ip?: string
  readonly domain?: string
}
