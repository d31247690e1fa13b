import { randomUUID } from 'node:crypto'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
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
  const keyOf = (replyTo: string): string => repliesKeyOf(server, replyTo)
  return {
    async send(replyTo, replies) {
      const key = keyOf(replyTo)
      // Published first, since that is what the process waits for; a pipeline leaves at once, where
      // commands that are pipelined automatically leave a turn of the event loop later.
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
    async listen(replyTo, onReply) {
      const key = keyOf(replyTo)
      let heard: string[] = []
      const subscription = await channel.subscribe(replyTo, (message) => {
        heard.push(message.slice(0, NAME_LENGTH))
        onReply(message.slice(NAME_LENGTH))
      })
      async function acknowledge(): Promise<void> {
        if (heard.length === 0) return
        const names = heard
        heard = []
        await redis.hdel(key, ...names)
      }
      return {
        acknowledge,
        async fetchMissed() {
          await acknowledge()
          for (const [name, reply] of Object.entries(await redis.hgetall(key))) {
            heard.push(name)
            onReply(reply)
          }
          await acknowledge()
        },
        async [Symbol.asyncDispose]() {
          await subscription[Symbol.asyncDispose]()
          // If the server is down, the replies expire after a minute.
          await withTimeOut(CLOSE_MS, redis.unlink(key)).catch(() => undefined)
        },
      }
    },
  }
}

/** Length of a UUID as text. */
const NAME_LENGTH = 36
