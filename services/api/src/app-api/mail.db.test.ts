import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { leaseMails } from '@plumbline/db/mails'
import type { MailMessage } from '@plumbline/mail/message'
import { queueMail } from '@plumbline/mail/outbox'
import { FACTOR_BUDGETS } from '@plumbline/people/factor-check'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { PATIENT } from '@plumbline/testkit/patience'
import { Secret, TOTP } from 'otpauth'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

const PASSWORD = 'tidal lantern cactus seven'

/** A mail server that stores messages, or refuses them for a while. */
interface Postbox extends AsyncDisposable {
  readonly port: number
  readonly mails: { readonly to: string; readonly text: string }[]
  refusal: Error | undefined
}

async function openPostbox(): Promise<Postbox> {
  const mails: Postbox['mails'] = []
  const state: { refusal: Error | undefined } = { refusal: undefined }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) => done(state.refusal),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const text = Buffer.concat(chunks)
          .toString('utf8')
          .replaceAll('=\r\n', '')
          .replaceAll('=3D', '=')
        mails.push({ to: session.envelope.rcptTo[0]?.address ?? '', text })
        done()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    // Safe because it listens on TCP.
    port: (server.server.address() as AddressInfo).port,
    mails,
    get refusal() {
      return state.refusal
    },
    set refusal(error) {
      state.refusal = error
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(resolve)
      }),
  }
}

let api: ApiHarness
let postbox: Postbox
beforeAll(async () => {
  postbox = await openPostbox()
  api = await openApiHarness({
    MAIL_URL: `smtp://127.0.0.1:${postbox.port}`,
    MAIL_FROM: 'Plumbline <no-reply@service.example>',
    PUBLIC_URL: 'https://app.service.example',
    SIGN_UPS_PER_NETWORK: '1000',
  })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await postbox[Symbol.asyncDispose]()
})
beforeEach(() => {
  postbox.refusal = undefined
})

/** Waits for the newest message to an address; returns it with the secret of its link. */
async function newest(to: string, about: string): Promise<{ text: string; secret: string }> {
  const find = (): string | undefined =>
    postbox.mails.findLast((mail) => mail.to === to && mail.text.includes(about))?.text
  await expect.poll(find).toBeDefined()
  const text = find() ?? ''
  return { text, secret: /#([0-9A-Za-z]{40})/.exec(text)?.[1] ?? '' }
}

async function signedUp(email: string): Promise<TestBrowser> {
  const browser = openBrowser(api)
  const answer = await browser.app('signUp', { name: 'Ada', email, password: PASSWORD })
  expect(answer.json).toEqual({ outcome: 'check_mail' })
  const { secret: token } = await newest(email, 'Verify your email')
  const opened = await browser.app('verify', { token, password: PASSWORD })
  expect(opened.json).toEqual({ outcome: 'signed_in' })
  return browser
}

test('an account exists only once the link of the message was opened, which works once', async () => {
  const email = 'grace@company.example'
  const browser = openBrowser(api)
  await browser.app('signUp', { name: 'Grace', email, password: PASSWORD })
  expect((await browser.app('signIn', { email, password: PASSWORD })).status).toBe(401)
  const { text, secret } = await newest(email, 'Verify your email')
  expect(text).toContain(`https://app.service.example/app/verify#${secret}`)
  expect(text).toContain('multipart/alternative')
  const form = { token: secret, password: PASSWORD }
  const browsers = [browser, openBrowser(api)]
  const opened = await Promise.all(browsers.map((one) => one.app('verify', form)))
  expect(opened.map(({ status }) => status).toSorted()).toEqual([200, 422])
  const answers = await Promise.all(browsers.map((one) => one.app('readSession')))
  const users = answers.map(({ json }) => json.user).filter((user) => user !== null)
  expect(users).toEqual([expect.objectContaining({ name: 'Grace', verified: true })])
  expect((await openBrowser(api).app('signIn', { email, password: PASSWORD })).status).toBe(200)
})

test('opening the link of a sign-up by a stranger gives the stranger no account with the address', async () => {
  const email = 'victim@hijack.example'
  const stranger = { name: 'Eve', email, password: 'a pass phrase of a stranger' }
  await openBrowser(api).app('signUp', { ...stranger, password: PASSWORD })
  const { secret: own } = await newest(email, 'Verify your email')
  await openBrowser(api).app('signUp', stranger)
  const sent = (): number => postbox.mails.filter(({ to }) => to === email).length
  await expect.poll(sent).toBe(2)
  // Sent again is the newest sign-up, which is the stranger's.
  await openBrowser(api).app('resendVerification', { email })
  await expect.poll(sent).toBe(3)
  const { secret: token } = await newest(email, 'Verify your email')
  const victim = openBrowser(api)
  expect((await victim.app('verify', { token })).json).toEqual({ outcome: 'password_needed' })
  const refused = await victim.app('verify', { token, password: PASSWORD })
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('sign up again')])
  const signIn = await openBrowser(api).app('signIn', { email, password: stranger.password })
  expect(signIn.status).toBe(401)
  const opened = await victim.app('verify', { token: own, password: PASSWORD })
  expect(opened.json).toEqual({ outcome: 'signed_in' })
  expect((await victim.app('readSession')).json.user?.email).toBe(email)
  const late = await openBrowser(api).app('verify', { token, password: stranger.password })
  expect(late.status).toBe(422)
})

test('a known address gets the same response as a new one; its user is notified, and nothing changes', async () => {
  const email = 'known@company.example'
  await signedUp(email)
  const body = { name: 'Eve', email, password: 'another long pass phrase' }
  const known = await openBrowser(api).app('signUp', body)
  const fresh = await openBrowser(api).app('signUp', { ...body, email: 'fresh@company.example' })
  expect([known.status, known.text]).toEqual([fresh.status, fresh.text])
  await newest(email, 'You have an account already')
  const eve = await openBrowser(api).app('signIn', { email, password: body.password })
  expect(eve.status).toBe(401)
})

test('a forgotten password is reset by a link, which ends all sessions; others learn nothing, and the own name is no password', async () => {
  const email = 'persephone@company.example'
  const browser = await signedUp(email)
  const asked = await openBrowser(api).app('beginReset', { email })
  const stranger = await openBrowser(api).app('beginReset', { email: 'nobody@company.example' })
  expect([asked.status, asked.text]).toEqual([stranger.status, stranger.text])
  const { secret } = await newest(email, 'Set a new password')
  const own = { token: secret, password: 'persephone-2026' }
  expect((await openBrowser(api).app('confirmReset', own)).status).toBe(422)
  const password = 'nine copper kites above'
  const confirmed = await openBrowser(api).app('confirmReset', { token: secret, password })
  expect(confirmed.json).toEqual({ outcome: 'password_changed' })
  expect((await browser.app('readSession')).json.user).toBeNull()
  expect((await browser.app('confirmReset', { token: secret, password })).status).toBe(422)
  expect((await browser.app('signIn', { email, password })).status).toBe(200)
  await newest(email, 'Your password was changed')
  expect(postbox.mails.some(({ to }) => to === 'nobody@company.example')).toBe(false)
})

test('a new address takes effect once confirmed; the old one is notified, other sessions end', async () => {
  const email = 'before@company.example'
  const browser = await signedUp(email)
  const other = openBrowser(api)
  await other.app('signIn', { email, password: PASSWORD })
  const asked = await browser.app('changeEmail', {
    email: 'after@company.example',
    password: PASSWORD,
  })
  expect(asked.json).toEqual({ outcome: 'check_mail' })
  expect((await browser.app('readSession')).json.user?.email).toBe(email)
  const { secret } = await newest('after@company.example', 'Confirm your email')
  const opened = await openBrowser(api).app('verify', { token: secret })
  expect(opened.json).toEqual({ outcome: 'email_changed' })
  expect((await browser.app('readSession')).json.user?.email).toBe('after@company.example')
  expect((await other.app('readSession')).json.user).toBeNull()
  await newest(email, 'was changed')
})

test('a message waits while the server is down, and is sent once', async () => {
  postbox.refusal = Object.assign(new Error('come later'), { responseCode: 451 })
  const email = 'later@company.example'
  await openBrowser(api).app('signUp', { name: 'L', email, password: PASSWORD })
  const waiting = async (): Promise<unknown> => {
    const { rows } = await api.db.pool.query(`select kind, attempts, fault from mails`)
    return rows
  }
  await expect
    .poll(waiting)
    .toEqual([{ kind: 'verify', attempts: 1, fault: expect.stringContaining('451') }])
  const { rows } = await api.db.pool.query(`select sealed from mails`)
  expect(JSON.stringify(rows)).not.toContain('later@company')
  postbox.refusal = undefined
  await api.db.pool.query('update mails set next_at = now()')
  await newest(email, 'Verify your email')
  await expect.poll(waiting).toEqual([])
  expect(postbox.mails.filter(({ to }) => to === email)).toHaveLength(1)
})

test('a message that the server will never take is dropped', async () => {
  postbox.refusal = Object.assign(new Error('no such mailbox'), { responseCode: 550 })
  await openBrowser(api).app('signUp', {
    name: 'N',
    email: 'never@company.example',
    password: PASSWORD,
  })
  await expect
    .poll(async () => (await api.log()).includes('a message was refused and dropped'))
    .toBe(true)
  const { rowCount } = await api.db.pool.query('select from mails')
  expect(rowCount).toBe(0)
  expect(await api.log()).not.toContain('never@company')
})

test('owners are notified of a replaced key, without the key', async () => {
  const email = 'keys@company.example'
  const browser = await signedUp(email)
  await browser.app('createKey', { mode: 'live' })
  const { json: answer } = await browser.app('createKey', { mode: 'live' })
  const { text } = await newest(email, 'A new live key was made')
  expect(text).toContain(answer.record.last4)
  expect(text).not.toContain(answer.key)
})

test('the user who made a batch, of a file or of another, is notified once that it ended', async () => {
  const email = 'batch@company.example'
  const browser = await signedUp(email)
  const made = await browser.call('/v1/batches', {
    body: { product: 'email', name: 'Spring list', records: [{ email: 'a@example.com' }] },
  })
  expect(made.status).toBe(202)
  // Safe because the status of a batch was answered.
  const { id } = made.json as { id: string }
  await allowAnyTransition(api.db)
  await api.db.pool.query(`update batches set status = 'canceled' where id = $1`, [id])
  const { text } = await newest(email, 'Spring list')
  expect(text).toContain(`https://app.service.example/app/batches/${id}`)
  const again = await browser.call(`/v1/batches/${id}/recheck`, {
    body: { only: ['canceled'], name: 'Spring list, again' },
  })
  expect(again.status).toBe(202)
  await api.db.pool.query(`update batches set status = 'canceled' where origin_id = $1`, [id])
  const next = await newest(email, 'Spring list, again')
  // Safe because the id of a batch was answered.
  expect(next.text).toContain(`/app/batches/${(again.json as { id: string }).id}`)
  expect((await api.db.pool.query('select from batch_watchers')).rowCount).toBe(0)
})

test('wrong codes of the second factor are limited for a password, and the user is told once', async () => {
  const email = 'guessed@company.example'
  const browser = await signedUp(email)
  const begun = await browser.app('beginSecondFactor', { password: PASSWORD })
  const totp = new TOTP({ secret: Secret.fromBase32(begun.json.secret) })
  const confirmed = await browser.app('confirmSecondFactor', { code: totp.generate() })
  const codes = confirmed.json.recovery_codes
  const tryCode = async (code: string, password = PASSWORD): Promise<number> =>
    (await openBrowser(api).app('signIn', { email, password, code })).status
  // Right codes use up none of the tries.
  expect(await tryCode(codes[0] ?? '')).toBe(200)
  const spend = 'update budgets set spent = 19 where starts_with(name, $1)'
  await api.db.pool.query(spend, [FACTOR_BUDGETS])
  expect(await tryCode('000000')).toBe(422)
  expect([await tryCode(codes[1] ?? ''), await tryCode('000000')]).toEqual([429, 429])
  await newest(email, 'many wrong codes')
  expect(postbox.mails.filter(({ text }) => text.includes('many wrong codes'))).toHaveLength(1)

  await browser.app('beginReset', { email })
  const { secret: token } = await newest(email, 'asked to set a new password')
  const password = 'nine copper kites above'
  await browser.app('confirmReset', { token, password })
  expect(await tryCode(codes[1] ?? '', password)).toBe(200)
})

test('a new address gets so many messages an hour, like any other', async () => {
  const browser = await signedUp('renamer@company.example')
  const wanted = { email: 'victim@company.example', password: PASSWORD }
  const statuses: number[] = []
  for (let no = 0; no < 6; no++) statuses.push((await browser.app('changeEmail', wanted)).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
})

test('endpoints that are disabled again and again are told to owners ten times a day', async () => {
  const email = 'endpoints@company.example'
  const browser = await signedUp(email)
  const accountId = (await browser.app('readSession')).json.account?.id ?? ''
  await api.db.pool.query('select from take_from_budget($1, 9, 10)', [`webhook-mails:${accountId}`])
  const made = await browser.call('/v1/webhooks', {
    body: { url: 'https://hooks.example/a', events: ['batch.completed'] },
  })
  expect(made.status).toBe(201)
  const disable = async (): Promise<void> => {
    await api.db.pool.query(
      `update webhook_endpoints
         set disabled_reason = 'gone', disabled_at = now(), owners_told_at = null
         where account_id = $1`,
      [accountId],
    )
    const untold = 'select from webhook_endpoints where account_id = $1 and owners_told_at is null'
    await expect
      .poll(async () => (await api.db.pool.query(untold, [accountId])).rowCount, PATIENT)
      .toBe(0)
  }
  await disable()
  await newest(email, 'webhook')
  const told = postbox.mails.filter(({ to }) => to === email).length
  await disable()
  expect((await api.db.pool.query('select from mails')).rowCount).toBe(0)
  expect(postbox.mails.filter(({ to }) => to === email)).toHaveLength(told)
})

test('beyond 200 batches of an account a day, their users are not notified', async () => {
  const browser = await signedUp('program@company.example')
  const accountId = (await browser.app('readSession')).json.account?.id ?? ''
  await api.db.pool.query('select from take_from_budget($1, 199, 200)', [
    `batch-mails:${accountId}`,
  ])
  for (const name of ['Last with news', 'First without']) {
    const made = await browser.call('/v1/batches', {
      body: { product: 'email', name, records: [{ email: `${name[0]}@example.com` }] },
    })
    expect(made.status).toBe(202)
  }
  await allowAnyTransition(api.db)
  await api.db.pool.query(`update batches set status = 'canceled' where account_id = $1`, [
    accountId,
  ])
  await expect
    .poll(async () => (await api.db.pool.query('select from batch_watchers')).rowCount, PATIENT)
    .toBe(0)
  const { rows } = await api.db.pool.query<{ taken: number }>(
    'select taken::int from take_from_budget($1, 1, 200)',
    [`batch-mails:${accountId}`],
  )
  expect(rows).toEqual([{ taken: 0 }])
  const told = (): number =>
    postbox.mails.filter(({ text }) => /Last with news|First without/.test(text)).length
  await expect.poll(told, PATIENT).toBe(1)
})

test('owners are notified of credits below their mark: spent below it, or by a mark above them', async () => {
  const email = 'news@company.example'
  const browser = await signedUp(email)
  const accountId = (await browser.app('readSession')).json.account?.id ?? ''
  expect((await browser.app('changeAccount', { low_credit_mark: 190 })).status).toBe(200)
  const debit = (opKey: string) => api.metering.debit({ accountId, opKey, credits: 10 })
  await debit('to the mark')
  await debit('below it')
  expect((await newest(email, 'are left')).text).toMatch(/180 credits are left[^]*mark of 190/)

  const other = await signedUp('more@company.example')
  await other.app('changeAccount', { low_credit_mark: 500 })
  const { text } = await newest('more@company.example', '200 credits are left')
  expect(text).toContain('mark of 500')
})

test('sign-ups by strangers with addresses of a company do not use up its daily accounts', async () => {
  const box = await openPostbox()
  await using stack = new AsyncDisposableStack()
  stack.use(box)
  const small = stack.use(
    await openApiHarness({
      MAIL_URL: `smtp://127.0.0.1:${box.port}`,
      MAIL_FROM: 'Plumbline <no-reply@service.example>',
      PUBLIC_URL: 'https://app.service.example',
      SIGN_UPS_PER_NETWORK: '1000',
      SIGN_UPS_PER_MAIL_DOMAIN: '2',
    }),
  )
  const ask = async (email: string): Promise<number> =>
    (await openBrowser(small).app('signUp', { name: 'A', email, password: PASSWORD })).status
  const secretOf = async (to: string): Promise<string> => {
    const find = (): string | undefined =>
      box.mails
        .map((mail) => (mail.to === to ? /#([0-9A-Za-z]{40})/.exec(mail.text)?.[1] : undefined))
        .find((secret) => secret !== undefined)
    await expect.poll(find, { timeout: 60_000 }).toBeDefined()
    return find() ?? ''
  }
  const open = async (secret: string): Promise<number> =>
    (await openBrowser(small).app('verify', { token: secret, password: PASSWORD })).status

  for (let n = 0; n < 17; n++) expect(await ask(`nobody${n}@target.example`)).toBe(200)
  for (const name of ['ada', 'bob', 'cyd']) expect(await ask(`${name}@target.example`)).toBe(200)
  // Messages to a domain have their own bound.
  expect(await ask('late@target.example')).toBe(429)

  const [ada, bob, cyd] = await Promise.all(
    ['ada', 'bob', 'cyd'].map((name) => secretOf(`${name}@target.example`)),
  )
  // One link that is opened many times at once uses up one account.
  const opened = await Promise.all(Array.from({ length: 6 }, () => open(ada ?? '')))
  expect(opened.filter((status) => status === 200)).toHaveLength(1)
  expect(await open(bob ?? '')).toBe(200)
  expect(await open(cyd ?? '')).toBe(429)
  // Refused for today, the link stays good.
  await small.db.pool.query(`delete from budgets where name like 'sign-up:domain:%'`)
  expect(await open(cyd ?? '')).toBe(200)
})

test('links that somebody waits for are sent before all other messages, however many wait', async () => {
  await using quiet = await openApiHarness()
  const sealer = { encrypt: (text: string) => text }
  const link = 'https://app.service.example/'
  const queue = async (message: MailMessage): Promise<boolean> =>
    await queueMail(quiet.db, sealer, message)
  const to = 'a@company.example'
  for (let no = 0; no < 6; no++) {
    await queue({ kind: 'invitation', to, accountName: 'A', inviterName: 'B', link })
  }
  await queue({ kind: 'reset', to, name: 'A', link })
  await queue({ kind: 'verify', to, name: 'A', link })
  await queue({ kind: 'confirm_email', to, name: 'A', link })
  const taken = async (): Promise<readonly string[]> => {
    const { mails } = await leaseMails(quiet.db, { count: 4, leaseMs: 60_000 })
    return mails.map(({ kind }) => kind).toSorted()
  }
  expect(await taken()).toEqual(['confirm_email', 'invitation', 'reset', 'verify'])
  expect(await taken()).toEqual(Array.from({ length: 4 }, () => 'invitation'))
  expect(await taken()).toEqual(['invitation'])
})

test('the message of an invitation that is replaced or withdrawn before it was sent is never sent', async () => {
  const owner = await signedUp('owner@company.example')
  postbox.refusal = Object.assign(new Error('come later'), { responseCode: 451 })
  const email = 'stranger@elsewhere.example'
  const made = await owner.app('invite', { email, role: 'viewer' })
  const waiting = async (): Promise<number | null> =>
    (await api.db.pool.query(`select from mails where kind = 'invitation' and attempts > 0`))
      .rowCount
  await expect.poll(waiting).toBe(1)
  await owner.app('invite', { email, role: 'member' })
  await expect.poll(waiting).toBe(1)
  await owner.app('withdrawInvitation', undefined, made.json.id)
  expect(await waiting()).toBe(0)
})

test('an account sends so many invitations a day, withdrawn ones included and refused ones not', async () => {
  await using small = await openApiHarness({
    MAIL_URL: `smtp://127.0.0.1:${postbox.port}`,
    MAIL_FROM: 'Plumbline <no-reply@service.example>',
    PUBLIC_URL: 'https://app.service.example',
    INVITATIONS_PER_DAY: '2',
  })
  const ownerOf = async (email: string): Promise<TestBrowser> => {
    const browser = openBrowser(small)
    await browser.app('signUp', { name: 'Ada', email, password: PASSWORD })
    const { secret: token } = await newest(email, 'Verify your email')
    await browser.app('verify', { token, password: PASSWORD })
    return browser
  }
  const owner = await ownerOf('limited@company.example')
  const invite = async (email: string, by = owner) =>
    await by.app('invite', { email, role: 'viewer' })
  expect((await invite('limited@company.example')).status).toBe(409)
  for (const name of ['one', 'two']) {
    const made = await invite(`${name}@elsewhere.example`)
    expect(made.status).toBe(200)
    await owner.app('withdrawInvitation', undefined, made.json.id)
  }
  const refused = await invite('three@elsewhere.example')
  expect([refused.status, refused.text]).toEqual([
    429,
    expect.stringContaining('An account may send 2 invitations a day'),
  ])
  const other = await ownerOf('other@company.example')
  expect((await invite('three@elsewhere.example', other)).status).toBe(200)
})
