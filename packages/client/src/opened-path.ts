/** A file of this machine, whose bytes are read again at each call of `bytes`. */
export interface OpenedPath {
  readonly kind: 'path'
  readonly fileName: string
  bytes(): AsyncIterable<Uint8Array>
}
