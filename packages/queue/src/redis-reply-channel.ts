import { randomUUID } from 'node:crypto'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Channel, OpenReplyChannel, ReplyChannel } from '@plumbline/ports/channel'
import { channelOf, repliesKeyOf } from './redis-channel.ts'
import { CLOSE_MS, type RedisServer } from './redis.ts'

/** Milliseconds for which a reply is stored for a process that missed it. */
const KEEP_MS = 60_000

/**
 * Stores the replies to each process in a hash, and publishes each one with its field name
 * prepended.
 */
export function createRedisReplyChannel(server: RedisServer, channel: Channel): ReplyChannel {
  const redis = server.commands
  const { isSharded } = server
  return {
    async send(replyTo, replies) {
      const key = repliesKeyOf(server, replyTo)
      // Published first, since the process waits for it; an explicit pipeline is sent at once,
      // automatic pipelining only in the next turn of the event loop.
      const pipeline = redis.pipeline()
      for (const reply of replies) {
        const name = randomUUID()
        const to = channelOf(server, replyTo)
        const message = `${name}${reply}`
        if (isSharded) pipeline.spublish(to, message)
        else pipeline.publish(to, message)
        pipeline.hset(key, name, reply)
      }
      for (const [error] of (await pipeline.pexpire(key, KEEP_MS).exec()) ?? []) {
        if (error !== null) throw error
      }
    },
    listen: (replyTo, onReply) => openReplies(server, channel, replyTo, onReply),
  }
}

async function openReplies(
  server: RedisServer,
  channel: Channel,
  replyTo: string,
  onReply: (reply: string) => void,
): Promise<OpenReplyChannel> {
  const redis = server.commands
  const key = repliesKeyOf(server, replyTo)
  let heard: string[] = []
  /** Consecutive fetches that found replies without any announcement. */
  let unheardCount = 0
  function onMessage(message: string): void {
    unheardCount = 0
    heard.push(message.slice(0, NAME_LENGTH))
    onReply(message.slice(NAME_LENGTH))
  }
  let subscription = await channel.subscribe(replyTo, onMessage)
  let renewing: Promise<void> | undefined
  /**
   * Subscribes again after a node dropped the channel because its slot moved. If the slot is back
   * by the time that the driver reads the slots, the driver does not do so itself.
   */
  async function renew(): Promise<void> {
    await subscription[Symbol.asyncDispose]()
    subscription = await channel.subscribe(replyTo, onMessage)
  }
  async function acknowledge(): Promise<void> {
    if (heard.length === 0) return
    const names = heard
    heard = []
    await redis.hdel(key, ...names)
  }
  async function close(): Promise<void> {
    await renewing
    await subscription[Symbol.asyncDispose]()
    await redis.unlink(key)
  }
  return {
    acknowledge,
    async fetchMissed() {
      await acknowledge()
      const missed = Object.entries(await redis.hgetall(key))
      for (const [name, reply] of missed) {
        heard.push(name)
        onReply(reply)
      }
      await acknowledge()
      if (missed.length === 0) return
      unheardCount += 1
      // A single one may have been in flight. The next fetch does not wait for it.
      if (!server.isSharded || unheardCount < 2) return
      renewing ??= renew()
        .catch(() => undefined)
        .finally(() => (renewing = undefined))
    },
    async [Symbol.asyncDispose]() {
      // If the server does not reply, the replies expire after a minute.
      await withTimeOut(CLOSE_MS, close()).catch(() => undefined)
    },
  }
}

/** Length of a UUID as text. */
const NAME_LENGTH = 36
