import { describe, expect, test } from 'vitest'
import { BOUNDARIES, boundaryFaults } from './boundaries.ts'
import {
  cyclesIn,
  declaredBy,
  importsOf,
  packageFolders,
  readSource,
  sourceFiles,
  targetOf,
} from './import-graph.ts'

const FILES = sourceFiles()
const IMPORTS = new Map(FILES.map((file) => [file, importsOf(file, readSource(file))] as const))

describe('the sources', () => {
  test('import only what the table allows', () => {
    const faults = FILES.flatMap((file) =>
      boundaryFaults(file, IMPORTS.get(file) ?? [], declaredBy(file) ?? undefined),
    )
    expect(faults).toEqual([])
  })

  test('have a row in the table for each package but the test kit; rows name only earlier rows', () => {
    const rows = Object.keys(BOUNDARIES)
    expect(rows.toSorted()).toEqual(packageFolders().filter((name) => name !== 'testkit'))
    const ahead = rows.flatMap((row, at) =>
      (BOUNDARIES[row]?.ours ?? []).filter((ours) => !rows.slice(0, at).includes(ours)),
    )
    expect(ahead).toEqual([])
  })

  test('import files that exist', () => {
    const known = new Set(FILES)
    const lost = FILES.flatMap((file) =>
      (IMPORTS.get(file) ?? [])
        .map(({ specifier }) => targetOf(file, specifier))
        .filter((target) => target !== null && target.endsWith('.ts') && !known.has(target)),
    )
    expect(lost).toEqual([])
  })

  test('have no import cycle, type imports included', () => {
    const graph = new Map(
      FILES.map((file) => [
        file,
        (IMPORTS.get(file) ?? []).flatMap(({ specifier }) => targetOf(file, specifier) ?? []),
      ]),
    )
    expect(cyclesIn(graph)).toEqual([])
  })
})

describe('the rules refuse', () => {
  test.each([
    ['packages/ip/src/x.ts', "import { connect } from 'node:net'"],
    ['packages/ip/src/x.ts', "import { connect } from 'net'"],
    ['packages/ip/src/x.ts', "import * as net from 'node:net'"],
    ['packages/ip/src/x.ts', "const { connect } = await import('node:tls')"],
    ['packages/ip/src/x.ts', "const name = 'x'; await import(name)"],
    ['packages/ip/src/x.ts', "import { parseMailbox } from '@plumbline/email/syntax'"],
    ['packages/ip/src/x.ts', "import { parseMailbox } from '../../email/src/syntax.ts'"],
    ['packages/ip/src/x.ts', "export { parseMailbox } from '@plumbline/email/syntax'"],
    ['packages/ip/src/x.ts', "import type { Mailbox } from '@plumbline/email/syntax'"],
    ['packages/ip/src/x.ts', "type M = import('@plumbline/email/syntax').Mailbox"],
    ['packages/ip/src/x.ts', "import pg from 'pg'"],
    ['packages/contract/src/x.ts', "import { z } from '@plumbline/ports/engine'"],
    ['packages/new/src/x.ts', "import { z } from 'zod'"],
    ['services/api/src/x.ts', "import { serve } from '@plumbline/worker/serve'"],
    ['services/api/src/x.ts', "import { serve } from '../../worker/src/serve.ts'"],
    ['services/api/src/x.ts', "import { openRedis } from '@plumbline/testkit/redis'"],
    ['services/api/src/x.ts', "import { createPhoneEngine } from '@plumbline/phone/engine'"],
    ['services/new/src/x.ts', "import { z } from '@plumbline/contract/outcome'"],
    ['packages/ip/src/x.ts', "import '@plumbline/email'"],
    ['packages/ip/src/deep/x.test.ts', "import { a } from '../../../net/src/a.ts'"],
  ])('on %s with %s', (file, text) => {
    expect(boundaryFaults(file, importsOf(file, text))).not.toEqual([])
  })

  test('a package of this project that the package.json does not name', () => {
    const imports = importsOf('packages/ip/src/x.ts', "import { a } from '@plumbline/net/address'")
    expect(boundaryFaults('packages/ip/src/x.ts', imports, new Set())).not.toEqual([])
    expect(boundaryFaults('packages/ip/src/x.ts', imports, new Set(['@plumbline/net']))).toEqual([])
  })

  test('a cycle, also of type imports', () => {
    const graph = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', ['a.ts', 'd.ts']],
      ['d.ts', []],
    ])
    expect(cyclesIn(graph)).toEqual([['a.ts', 'b.ts', 'c.ts']])
    expect(
      importsOf('a.ts', "import type { B } from './b.ts'").map((found) => found.specifier),
    ).toEqual(['./b.ts'])
  })
})

describe('the rules allow', () => {
  test('parsing an address with node:net', () => {
    const imports = importsOf('packages/ip/src/x.ts', "import { isIP } from 'node:net'")
    expect(boundaryFaults('packages/ip/src/x.ts', imports)).toEqual([])
  })
})
