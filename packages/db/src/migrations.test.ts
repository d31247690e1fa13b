import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const FOLDER = new URL('../migrations/', import.meta.url)

/**
 * SHA-256 of every released migration. A database that has run a file rejects another content of
 * it.
 */
const LANDED: Readonly<Record<string, string>> = {
  '0001_accounts.sql': '59fde01062152007efea06dd9466654f23a753aa47a6106718de7b2266cd697d',
  '0002_credits.sql': '74e734dce80182c0ee8dd305f34ef965c55724f7de9b74f2bb11f7a372ae8715',
  '0003_memory_and_limits.sql': '2613b89766ee644ab8063296153f8635e68ce080a107a22eeece191ab803355c',
  '0004_batches.sql': 'a741431a7f6be2eac93bc58ec8f680131b94f75558944ed7f91a64e4a8132b0b',
  '0005_idempotency.sql': '67d978b37eb83436d7ce68aa3f82a832ab51170779d6f4cfbb0a45dac9e7d564',
  '0006_files.sql': '773d9e4c67ee70873367a168cca964b9b324036f46a4a459e5950d81dafa7bf0',
  '0020_bounded_ends.sql': '854f6c0e843ebcdbe6a4dda97b46060f3751320f1f9c0871f1b8d01dae2dd4ce',
  '0021_dispatch.sql': '313220e8c864e7c8a1f573115258d864e96619a50fb28e48a79c5ffa0c3cf393',
  '0022_dispatch_indexes.sql': '82567c9b212cf86464492b50c2f5f210d95bbd2e365e1e93318b42dfb7c858cf',
  '0023_reconciler.sql': 'bd4c8724469963f49ccf88a1837a04380988e6ca169e114daffdedb4aa41e274',
  '0030_files_as_they_are.sql': '574227f37ab397be8054b982cca3c8dd022f11c05ba2dd389f374722e7011c05',
  '0035_paused_batches.sql': '17e7eb3db9fa61e2742801ff88865c48f1043e6f41de22e976dd0585e47fce73',
  '0036_batch_previews.sql': '39d9a0e2e7c68f32f628a1bfc58e9ce85a082f9a374775e6c4684433cd99f06e',
  '0037_known_rows.sql': 'ca7f2caae7577af7926ae814f610c94847d1fabef1bf4547aa5ac52b37801085',
  '0038_samples.sql': '244254f16813875a1fd7cfff00fc0ef78355192f63e1ee63b2875a17c735f865',
  '0045_batch_origins.sql': '9610ba016a49edf62f7bb22b9659f1e7728a4735bf19a70d1dc9a936320cb713',
  '0055_people.sql': 'b541e26973bac410a159d8c3f70e8191320111546c5004133d5315a75d9f9aa0',
  '0056_mails.sql': 'b2d35bb51f4306a29bd201087bb405ea16fbd50c7e951fcdc3b1f7c4db7ffea6',
  '0057_mail_domain_lists.sql': '020f088f427c062ca2023d5c62adf53f7595cec016d85b374558765f01231b49',
  '0058_batch_watchers.sql': '7215f7bcfcf23fcf1327d06374777d08874ae6c5d9e4249b24b8009b34711863',
  '0065_usage.sql': '6ca863cbebd4fdb275f8d96db5e86c6a8828f382b051063e6b1d35b08a71bceb',
  '0066_ledger_order.sql': 'f6d98e5d43f99da12b5ea51ab3f339508ef0adad254ba9b1b3ebd2347b2cb598',
  '0067_plans_and_limits.sql': '5881980f6a276de2cce4d60d4c38238cdfa43f841575863d1973aa5bfc9b4690',
  '0075_webhooks.sql': '6384e76ca23b8c7ed4c209684aee1ec7193d8c73048e2c0489afa4ef058e7432',
  '0076_lookups.sql': '822a865076d74fe831fc5326d9193c5417d52318fdfc0750263deb7806d300a4',
  '0077_batches_listed.sql': 'dce0c54f902db81ba974feb08e695664fc15d67ff2f2ecfcc640f7d91e7822af',
  '0091_batch_pace.sql': '95203e454ec970c2037709cad9b81f69c55c2e78c8ecb6cb7fef63208bc76907',
  '0080_worker_room.sql': '151a5b07e642c4f7719bbb5788b4f08d71576d465609a71e72712313ff097c65',
  '0068_resting_accounts.sql': 'f2e141d3f4e6c8f980a343f7cb92b304c81fd096f1d881575ab621a2c9e45e75',
  '0088_kept_batches.sql': '47cf8776d48f62ad98dd1a579d050a39584b37593ed648da455a18a264a15240',
  '0094_erasures.sql': '6486f0be6106e221ced33c3f907965d9097940168a66295d069450911c2a03bf',
  '0095_known_verdicts.sql': '19c17b826f0480331165c8ddf86c1b51d4dc21d92482720295411f5d2ae23302',
  '0125_logged_reply_ids.sql': 'a153a00270f5119d4afbbd522015265b67405afb3052575e9676ebdec59d4536',
  '0115_group_answers.sql': 'b307cdf9452acba01b04f6319a93d5ba6d1df2cf82a63afad4b7ab3624f529d4',
  '0110_free_credits_once.sql': '134ffb9eae5c9389d76cdd7fa41a866fbe88f571055b2117dc951a44163b586f',
  '0105_removals_of_accounts.sql':
    'e06af5053427fc17192c8e42f1ab57e6756a51b8cbe67996828203bed83f9f96',
  '0129_running_sums.sql': '08863a05b6a6cdfc0cf39a8b2b245bc2aaf015971bad38447f2d05f80ad0cb2d',
  '0130_large_batches.sql': '7a039d1575b13917054b26af762e6b238fe8f8c4e0adee2a22b1615a1561eedc',
  '0131_store_listings.sql': '3777c72628400c52b4e4a174f1a1a6099c3bbb3d3460163aea1199c99758a998',
  '0132_small_tasks.sql': '1aab7ef16177fbfac1882afe940c841f3f9b317324b797078b99a3930858f16c',
  '0133_running_accounts.sql': '5d163eabe70d09e5c3c5ef4a4e4a1d06d1ae33fb063f7b3be02256937324238a',
  '0134_small_tasks_of_batches.sql':
    '1444bbdc9b1d849617b02e2dbb609ad07005f70e27df37f1e7964e016ac2adfa',
  '0135_turns_of_erasures.sql': 'b1a386629d0c6fe915810cce33269d0e97dc3ad4648eb11f6caf840ceeefdbba',
  '0138_urgent_mails.sql': '7db6dca59d02359650373ff5636321bc1db1fc4429d3886ccb4e99b746f63c04',
  '0139_due_tasks_by_check.sql': '3e357ccbb51b0473d5f9e56a7c1b6d56cba08e1aeeb1a0bee16ced8f877a9034',
  '0140_results_by_id.sql': '4abab11297c9eeeef2609796a6906d41bc26afb85b7ebe4c8be59cec20da8963',
  '0141_pages_of_history.sql': '9a07d45a18b0858f710329746010811e77e8652b93c5cf75e2a04f59686b80c0',
  '0142_records_prepaid.sql': '5ec9be839976d3593e9a9ac84c4962d0ea95786ba018a0bf852cb8cdc1daf621',
  '0143_webhook_pauses.sql': 'e84fb77376ebcca6d7d4a65e3fdc966fb1a2614e8c87c49a5c90a2f70982e92d',
  '0144_expired_mails.sql': 'efe3a957c64437854b74fa41682cdeba008d9aebf503e4c4a0287940bce291a7',
  '0145_ended_watchers.sql': 'cc6a4c45457b981a953f9fc9259e45ad5ef5cd9cb62da0374b69f30067b52af2',
  '0146_ended_watchers_listed.sql':
    '3d2045092d81fc9075d21cdffdfbf2c115706779eb1ecf25449b84706eda9d0b',
  '0147_mails_by_prefix.sql': 'e8b905da800bfe34e9434f0656559df8783c7477e286b8ef6ff099827ab53bbd',
  '0148_older_webhook_secrets.sql':
    'c4c6f78c5ce1b1b033e5af25e4c115b3c511d908bb257c0836a729bf8cd6914c',
  '0149_untold_endpoints.sql': 'b65b8a6d24e609dc2ee463026ed54a8bbf4f3c4b54100b2822522a54b0fec8ce',
}

test('a released migration is never edited; a change of the schema is a new file', () => {
  const digests = readdirSync(FOLDER).map((name) => [
    name,
    createHash('sha256')
      .update(readFileSync(new URL(name, FOLDER)))
      .digest('hex'),
  ])
  expect(Object.fromEntries(digests)).toEqual(LANDED)
})

/**
 * Files released before the rule below, with an index that locks a table of an earlier file while
 * it is built. No other may be added.
 */
const BEFORE_RULE = [
  '0020_bounded_ends.sql',
  '0021_dispatch.sql',
  '0035_paused_batches.sql',
  '0038_samples.sql',
  // Drops the index first, in place of `if not exists`.
  '0066_ledger_order.sql',
  '0067_plans_and_limits.sql',
  '0068_resting_accounts.sql',
  '0110_free_credits_once.sql',
]

/** Faults of the indexes that a file builds on tables of earlier files, a sentence each. */
function indexFaults(sql: string): readonly string[] {
  const statements = sql.replaceAll(/--.*$/gm, '')
  const made = [
    ...statements.matchAll(
      /\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(?:public\.)?"?(\w+)/gi,
    ),
  ].map(([, table = '']) => table.toLowerCase())
  const indexes = statements.matchAll(
    /\bcreate\s+(?:unique\s+)?index\s+([^;(]*?)\bon\s+(?:only\s+)?(?:public\.)?"?(\w+)/gi,
  )
  return [...indexes].flatMap(([, how = '', table = '']) => {
    if (made.includes(table.toLowerCase())) return []
    const expected = [
      [sql.startsWith('-- outside a transaction\n'), 'a file marked "-- outside a transaction"'],
      [/\bconcurrently\b/i.test(how), '"concurrently"'],
      [/\bif\s+not\s+exists\b/i.test(how), '"if not exists"'],
    ] as const
    return expected.flatMap(([is, what]) => (is ? [] : [`an index on ${table} lacks ${what}`]))
  })
}

test('an index on a table of an earlier migration is built while others write to the table', () => {
  const faulty = readdirSync(FOLDER)
    .toSorted()
    .filter((name) => indexFaults(readFileSync(new URL(name, FOLDER), 'utf8')).length > 0)
  expect(faulty).toEqual(BEFORE_RULE)
})

const INDEX = 'create index concurrently if not exists tasks_a on tasks (a);\n'
const MARK = '-- outside a transaction\n'

test.each([
  ['within a transaction', INDEX, ['a file marked "-- outside a transaction"']],
  ['under a lock', MARK + INDEX.replace('concurrently ', ''), ['"concurrently"']],
  ['where it may be there', MARK + INDEX.replace('if not exists ', ''), ['"if not exists"']],
  [
    'as any unique one',
    'create table others (a int);\ncreate unique index on tasks\n  (a);\n',
    ['a file marked "-- outside a transaction"', '"concurrently"', '"if not exists"'],
  ],
])('a migration that builds an index %s is found', (_, sql, lacks) => {
  expect(indexFaults(sql)).toEqual(lacks.map((what) => `an index on tasks lacks ${what}`))
})

test.each([
  ['builds it as it should', MARK + INDEX],
  ['makes the table itself', 'create table tasks (a int);\ncreate index tasks_a on tasks (a);\n'],
  ['only speaks of one', '-- create index tasks_a on tasks (a);\nselect 1;\n'],
])('a migration that %s is accepted', (_, sql) => {
  expect(indexFaults(sql)).toEqual([])
})
