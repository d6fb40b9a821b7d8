/** Programs that tests need from the machine. On Debian as root, one that is missing is installed. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of the first program of these names. */
export function programOf(names: readonly string[], debianPackage: string): string {
  return onPath(names) ?? install(names, debianPackage)
}

/**
 * Chromium without windows, profiles and toolbars: it takes less than half of the processor time, so it is used where it
 * can be had.
 */
export function headlessShell(): string | undefined {
  try {
    return programOf(['chromium-headless-shell', 'chrome-headless-shell'], 'chromium-headless-shell')
  } catch {
    return undefined
  }
}

function onPath(names: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  for (const folder of folders) {
    for (const name of names) {
      const file = join(folder, name)
      try {
        accessSync(file, constants.X_OK)
        return file
      } catch {
        // Not here; try the next one.
      }
    }
  }
  return undefined
}

function install(names: readonly string[], debianPackage: string): string {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0)
    throw new Error(`The tests need ${names[0]}: install it and put it on the PATH.`)
  process.stderr.write(`${names[0]} is missing; installing it: apt-get install -y ${debianPackage}\n`)
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', debianPackage]]) {
    const { status } = spawnSync('/usr/bin/apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      // RUNLEVEL: servers are installed without being started.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    })
    if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed`)
  }
  const found = onPath(names)
  if (!found) throw new Error(`${debianPackage} was installed, yet ${names[0]} is not on the PATH.`)
  return found
}
