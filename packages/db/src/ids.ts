import { randomInt } from 'node:crypto'

/** Digits of base 62, in the order of their value. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Random base62 characters from the system's generator, without bias. */
export function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62.charAt(randomInt(BASE62.length))).join('')
}

/** An id such as `acc_4fT0...`: a prefix and 16 base62 characters (95 bits). */
export function newId(
  prefix: 'acc' | 'key' | 'usr' | 'ses' | 'inv' | 'whk' | 'msg' | 'dlv' | 'ers',
): string {
  return `${prefix}_${randomBase62(16)}`
}
