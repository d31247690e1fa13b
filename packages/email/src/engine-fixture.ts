import { createEgress } from '@plumbline/net/egress'
import type { Json } from '@plumbline/contract/outcome'
import type { Answer, Engine, EngineRequest } from '@plumbline/ports/engine'
import type { EmailLists } from './domain-cache.ts'
import { createEmailEngine } from './engine.ts'
import type { EmailEngineOptions } from './engine.ts'
import { fakeResolver, nameList, processLimiter, processMemory } from './smtp-fixture.ts'

/** An engine over loopback with all its dependencies in this process; options can be overridden. */
export function testEngine(
  port: number,
  zone: Parameters<typeof fakeResolver>[0],
  options: Partial<EmailEngineOptions> = {},
): Engine<'email'> {
  const silent = (): void => undefined
  return createEmailEngine({
    resolver: fakeResolver(zone),
    egress: createEgress({ allow: ['127.0.0.0/8'] }),
    memory: processMemory(),
    limiter: processLimiter(),
    lists: testLists({}),
    smtp: { port, heloName: 'verifier.sender.test', mailFrom: 'verify@sender.test' },
    probing: 'smtp',
    greylistScheduleSeconds: [300, 900],
    selfTest: false,
    times: { connectMs: 300, greetingMs: 300, commandMs: 300, recipientMs: 300, sessionMs: 2_000 },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    ...options,
  })
}

/** Reference lists with a few names; those of throwaway domains and free providers can be replaced. */
export function testLists({
  disposable = ['throwaway.test'],
  free = ['free.test'],
}: {
  readonly disposable?: readonly string[]
  readonly free?: readonly string[]
}): EmailLists {
  return {
    disposable: nameList('disposable', disposable),
    disposableAllow: nameList('disposable-allow', []),
    privacyRelay: nameList('privacy-relay', ['relay.test']),
    free: nameList('free', free),
    role: nameList('role', ['info', 'support']),
    spamTrap: nameList('spam-trap', ['spamtrap@', 'known@trap.test', 'honey*@']),
    optOut: nameList('opt-out', ['optout.test']),
  }
}

/** A zone in which each domain has one mail host on loopback. */
export function zoneOf(
  hosts: Readonly<Record<string, string>>,
): Record<string, readonly unknown[]> {
  const zone: Record<string, readonly unknown[]> = {}
  for (const [domain, address] of Object.entries(hosts)) {
    zone[`${domain} MX`] = [{ preference: 10, exchange: `mx.${domain}` }]
    zone[`mx.${domain} A`] = [address]
  }
  return zone
}

/** Asks an engine about some subjects. */
export function ask(
  engine: Engine<'email'>,
  subjects: readonly string[],
  request: Partial<EngineRequest<'email'>> = {},
): Promise<readonly Answer<'email'>[]> {
  return engine.run({
    subjects,
    depth: 'basic',
    lane: 'live',
    account: 'account',
    signal: AbortSignal.timeout(30_000),
    ...request,
  })
}

/** The outcome of an answer; throws where it is `later`. */
export function outcomeOf(
  answer: Answer<'email'> | undefined,
): Extract<Answer<'email'>, { kind: 'outcome' }> {
  if (answer?.kind !== 'outcome')
    throw new Error(`expected an outcome, got ${JSON.stringify(answer)}`)
  return answer
}

/** Status, reason and retry state of an answer, for tables of tests. */
export function brief(answer: Answer<'email'> | undefined): Json {
  if (answer === undefined) return null
  return answer.kind === 'later' ? `later ${answer.reason}` : `${answer.status} ${answer.reason}`
}
