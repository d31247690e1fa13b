import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Root of the project. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** Runs a tool of the project with its output shown; answers its exit code. */
export async function runTool(command: string, args: readonly string[]): Promise<number> {
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit' })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
