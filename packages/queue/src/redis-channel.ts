import type { Channel } from '@plumbline/ports/channel'
import { closeRedis, type RedisServer } from './redis.ts'

/** The name of a topic's channel. */
export function channelOf({ prefix }: RedisServer, topic: string): string {
  return `${prefix}:channel:${topic}`
}

/** Redis pub/sub: one connection listens for all topics, and subscribes again after it was lost. */
export function createRedisChannel(server: RedisServer): Channel & AsyncDisposable {
  const listener = server.connect('listen')
  const listeners = new Map<string, Set<(message: string) => void>>()
  const nameOf = (topic: string): string => channelOf(server, topic)
  listener.on('message', (name: string, message: string) => {
    for (const onMessage of listeners.get(name) ?? []) onMessage(message)
  })
  return {
    async publish(topic, messages) {
      await Promise.all(messages.map((message) => server.commands.publish(nameOf(topic), message)))
    },
    async subscribe(topic, onMessage) {
      const name = nameOf(topic)
      const mine = listeners.get(name) ?? new Set()
      listeners.set(name, mine.add(onMessage))
      await listener.subscribe(name)
      return {
        async [Symbol.asyncDispose]() {
          mine.delete(onMessage)
          if (mine.size > 0 || listeners.get(name) !== mine) return
          listeners.delete(name)
          if (listener.status === 'ready') await listener.unsubscribe(name)
        },
      }
    },
    [Symbol.asyncDispose]: () => closeRedis(listener),
  }
}
