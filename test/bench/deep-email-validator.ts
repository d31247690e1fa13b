import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { validate } from 'deep-email-validator'
import type { Resolver } from '@plumbline/net/resolver'

/**
 * Validates addresses by the npm package deep-email-validator, this many concurrently. It only uses
 * the system's resolver, so Node's DNS functions are replaced meanwhile.
 */
export async function runDeepEmailValidator(
  resolver: Resolver,
  addresses: readonly string[],
  concurrency: number,
): Promise<{ readonly valid: readonly boolean[]; readonly ms: number }> {
  const restore = presetResolver(resolver)
  const valid: boolean[] = Array.from({ length: addresses.length })
  let next = 0
  const one = async (): Promise<void> => {
    for (let at = next++; at < addresses.length; at = next++) {
      const answer = await validate({
        email: addresses[at] ?? '',
        sender: 'verify@verifier.simnet.example',
        validateRegex: true,
        validateMx: true,
        validateTypo: false,
        validateDisposable: false,
        validateSMTP: true,
      })
      valid[at] = answer.valid
    }
  }
  const beganMs = performance.now()
  try {
    await Promise.all(Array.from({ length: concurrency }, one))
  } finally {
    restore()
  }
  return { valid, ms: performance.now() - beganMs }
}

function presetResolver(resolver: Resolver): () => void {
  const { lookup, resolveMx } = dns
  Object.assign(dns, {
    resolveMx(name: string, done: (error: Error | null, records: object[]) => void) {
      void resolver.resolve(name, 'MX').then((answer) => {
        const records = answer.kind === 'records' ? answer.records : []
        done(
          null,
          records.map(({ exchange, preference }) => ({ exchange, priority: preference })),
        )
      })
    },
    lookup(name: string, options: { all?: boolean }, done: (...args: unknown[]) => void) {
      void resolver.resolve(name, 'A').then((answer) => {
        const address = answer.kind === 'records' ? answer.records[0] : undefined
        if (address === undefined)
          done(Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' }))
        else if (options.all === true) done(null, [{ address, family: 4 }])
        else done(null, address, 4)
      })
    },
  })
  syncBuiltinESMExports()
  return () => {
    Object.assign(dns, { lookup, resolveMx })
    syncBuiltinESMExports()
  }
}
