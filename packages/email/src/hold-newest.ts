/** Sets an entry as the newest one, and deletes the oldest if there are more than `max`. */
export function holdNewest<K, V>(held: Map<K, V>, key: K, value: V, max: number): void {
  held.delete(key)
  held.set(key, value)
  if (held.size <= max) return
  const oldest = held.keys().next()
  if (oldest.done !== true) held.delete(oldest.value)
}
