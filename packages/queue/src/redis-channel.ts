import { setTimeout as delay } from 'node:timers/promises'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Channel } from '@plumbline/ports/channel'
import { Redis } from 'ioredis'
import { CLOSE_MS, closeRedis, type RedisServer } from './redis.ts'

/** The key that holds the replies to a process. */
export function repliesKeyOf({ prefix }: RedisServer, replyTo: string): string {
  return `${prefix}:replies:${replyTo}`
}

/**
 * The name of a topic's channel; on a cluster with a hash tag that puts it on the node of the
 * replies that are stored together with its messages.
 */
export function channelOf(server: RedisServer, topic: string): string {
  const tag = server.isSharded ? `{${repliesKeyOf(server, topic)}}` : topic
  return `${server.prefix}:channel:${tag}`
}

/**
 * Redis pub/sub, sharded on a cluster: one connection listens for all topics (on a cluster one for
 * each node), and subscribes again after a loss.
 */
export function createRedisChannel(server: RedisServer): Channel & AsyncDisposable {
  const listener = server.connect('listen')
  const listeners = new Map<string, Set<(message: string) => void>>()
  const nameOf = (topic: string): string => channelOf(server, topic)
  const { isSharded } = server
  const checking = new AbortController()
  if (listener instanceof Redis) void keepHearing(listener, server.commandMs, checking.signal)
  listener.on(isSharded ? 'smessage' : 'message', (name: string, message: string) => {
    for (const onMessage of listeners.get(name) ?? []) onMessage(message)
  })
  return {
    async publish(topic, messages) {
      const name = nameOf(topic)
      const { commands } = server
      await Promise.all(
        messages.map((message) =>
          isSharded ? commands.spublish(name, message) : commands.publish(name, message),
        ),
      )
    },
    async subscribe(topic, onMessage) {
      const name = nameOf(topic)
      const mine = listeners.get(name) ?? new Set()
      listeners.set(name, mine.add(onMessage))
      await (isSharded ? listener.ssubscribe(name) : listener.subscribe(name))
      return {
        async [Symbol.asyncDispose]() {
          mine.delete(onMessage)
          if (mine.size > 0 || listeners.get(name) !== mine) return
          listeners.delete(name)
          if (listener.status !== 'ready') return
          const left = isSharded ? listener.sunsubscribe(name) : listener.unsubscribe(name)
          // If the server does not reply, its messages are ignored here.
          await withTimeOut(CLOSE_MS, left).catch(() => undefined)
        },
      }
    },
    [Symbol.asyncDispose]: async () => {
      checking.abort()
      await closeRedis(listener)
    },
  }
}

/**
 * Opens a connection that listens again if the server does not reply on it. It only receives, so that
 * it would not notice a network that drops packets without a reset, and each reply to a call would
 * come with the next fetch of missed ones.
 */
async function keepHearing(listener: Redis, everyMs: number, closing: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await delay(everyMs, undefined, { signal: closing, ref: false })
    } catch {
      return
    }
    if (listener.status !== 'ready') continue
    // A connection that was lost meanwhile is being opened again.
    const hears = withTimeOut(everyMs, listener.ping()).catch(() => listener.status !== 'ready')
    if ((await hears) === false && !closing.aborted) listener.disconnect(true)
  }
}
