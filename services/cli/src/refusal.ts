/**
 * The command cannot continue; the message is one sentence for the terminal that says what to do.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** The command was used wrongly: exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command was ended by its user. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}
