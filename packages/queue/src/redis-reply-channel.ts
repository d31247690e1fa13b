import { randomUUID } from 'node:crypto'
import type { Channel, Mailbox } from '@plumbline/ports/channel'
import { channelOf } from './redis-channel.ts'
import { GOODBYE_MS, within, type RedisServer } from './redis.ts'

/** How long a letter waits for an owner who missed it. */
const KEEP_MS = 60_000

/** A hash for each box keeps its letters; the channel carries each with its name in the hash. */
export function createRedisMailbox(server: RedisServer, channel: Channel): Mailbox {
  const redis = server.commands
  const keyOf = (box: string): string => `${server.prefix}:box:${box}`
  return {
    async post(box, letters) {
      const key = keyOf(box)
      // Announced first, since that is what the owner waits for; a pipeline leaves at once, where
      // commands that are gathered leave a turn of the loop later.
      const line = redis.pipeline()
      for (const letter of letters) {
        const name = randomUUID()
        line.publish(channelOf(server, box), `${name}${letter}`).hset(key, name, letter)
      }
      for (const [error] of (await line.pexpire(key, KEEP_MS).exec()) ?? []) {
        if (error !== null) throw error
      }
    },
    async open(box, onLetter) {
      const key = keyOf(box)
      let heard: string[] = []
      const subscription = await channel.subscribe(box, (message) => {
        heard.push(message.slice(0, NAME_LENGTH))
        onLetter(message.slice(NAME_LENGTH))
      })
      async function tidy(): Promise<void> {
        if (heard.length === 0) return
        const names = heard
        heard = []
        await redis.hdel(key, ...names)
      }
      return {
        tidy,
        async collect() {
          await tidy()
          for (const [name, letter] of Object.entries(await redis.hgetall(key))) {
            heard.push(name)
            onLetter(letter)
          }
          await tidy()
        },
        async [Symbol.asyncDispose]() {
          await subscription[Symbol.asyncDispose]()
          // A server that is away drops the box by itself after a minute.
          await within(GOODBYE_MS, redis.unlink(key)).catch(() => undefined)
        },
      }
    },
  }
}

/** A UUID in text. */
const NAME_LENGTH = 36
