/** A fault of a connection to Postgres, at one statement. */
export type ConnectionFault =
  /** The statement is lost. */
  | 'lose_request'
  /** The statement takes effect, but its reply is lost. */
  | 'lose_reply'
  /** The next commit is acknowledged by a server that fails without having replicated it. */
  | 'lose_commit'
  /** The next commit that saves partial outcomes of a task takes effect, but its acknowledgement is lost. */
  | 'lose_acknowledgement'
  /** From the request on nothing passes this connection, and nobody is told; others are not affected. */
  | 'silence_request'
  /** The same after the request, which takes effect. */
  | 'silence_reply'
  /** A connection on which the process listens goes silent, without waiting for a request. */
  | 'silence_listener'
  /** The process is suspended when it has sent the request. */
  | 'suspend'
  /** The same within a round of the dispatcher. */
  | 'suspend_round'
  /** A standby without the latest commits takes over from the server before it receives the request. */
  | 'promote'

/** A fault that was injected; those of standstills say for how many virtual milliseconds. */
export interface InjectedFault {
  readonly fault: ConnectionFault
  readonly forMs: number
}
