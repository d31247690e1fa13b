import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processEnvironment } from '@plumbline/runtime/settings'

/** Root of the project. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Runs a tool of the project with its output shown and `env` added to the environment; returns its
 * exit code.
 */
export async function runTool(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...processEnvironment(), ...env },
      stdio: 'inherit',
    })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** Runs a tool of the project; returns its exit code and output. */
export async function captureTool(
  command: string,
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly output: string }> {
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ exitCode: code ?? 1, output }))
  })
}
