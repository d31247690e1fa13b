/**
 * Messages between processes. It forgets: who does not listen at that moment misses them,
 * so nothing may hang on one.
 */
export interface Channel {
  /** A topic is 1 to 50 characters of `a-z`, `0-9`, `-`, `_` and `:`. A message has at most 7,000 bytes. */
  publish(topic: string, messages: readonly string[]): Promise<void>
  /** Resolves once messages published from then on arrive. Survives lost connections. */
  subscribe(topic: string, onMessage: (message: string) => void): Promise<AsyncDisposable>
}

/** Brings letters to one process; what its channel forgets is kept for a minute and can be collected. */
export interface Mailbox {
  /** Keeps the letters, of any size, and announces them to the owner of the box. */
  post(box: string, letters: readonly string[]): Promise<void>
  /** Opens the box of this process. A letter may come twice, and in any order. */
  open(box: string, onLetter: (letter: string) => void): Promise<OpenMailbox>
}

/** A mailbox that hears until it is closed. */
export interface OpenMailbox extends AsyncDisposable {
  /** Hands over what is kept and was never announced; drops what was. */
  collect(): Promise<void>
  /** Drops what was handed over, without looking for more. */
  tidy(): Promise<void>
}
