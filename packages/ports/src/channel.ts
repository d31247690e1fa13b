/**
 * Pub/sub between processes. Messages are not stored: a process that does not listen at that moment
 * misses them.
 */
export interface Channel {
  /**
   * A topic is 1 to 50 characters of `a-z`, `0-9`, `-`, `_` and `:`. A message has at most 7,000
   * bytes.
   */
  publish(topic: string, messages: readonly string[]): Promise<void>
  /** Resolves once messages published from then on arrive. Survives lost connections. */
  subscribe(topic: string, onMessage: (message: string) => void): Promise<AsyncDisposable>
}

/**
 * Carries live replies from any process to one; replies that a listener missed are stored for a
 * minute and can be fetched.
 */
export interface ReplyChannel {
  /**
   * Stores the replies, of any size, and announces them to the process that listens at `replyTo`.
   */
  send(replyTo: string, replies: readonly string[]): Promise<void>
  /**
   * Listens at an address of this process, a topic as in `Channel`. A reply is delivered at least
   * once, in any order.
   */
  listen(replyTo: string, onReply: (reply: string) => void): Promise<OpenReplyChannel>
}

/** A reply channel that listens until it is disposed of. */
export interface OpenReplyChannel extends AsyncDisposable {
  /** Delivers stored replies that were missed; deletes delivered ones. */
  fetchMissed(): Promise<void>
  /** Deletes delivered replies, without looking for more. */
  acknowledge(): Promise<void>
}
