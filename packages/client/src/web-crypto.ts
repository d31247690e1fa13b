import type { webcrypto } from 'node:crypto'

type Crypto = webcrypto.Crypto

/** The Web Crypto of this platform: a global everywhere but in Node 18. */
export async function webCrypto(): Promise<Crypto> {
  // Safe because it is looked at before it is used: Node 18 has none.
  const known = globalThis.crypto as Crypto | undefined
  if (known !== undefined) return known
  const node = await import('./platform-node.ts')
  return node.webcrypto
}

/** 128 random bits as 32 hexadecimal digits. */
export async function randomName(): Promise<string> {
  // Not `randomUUID`, which browsers have only on secure pages.
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
