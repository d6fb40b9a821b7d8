/** Programs that tests need from the machine. On Debian as root, one that is missing is installed. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const aptGet = '/usr/bin/apt-get'

/** The path of the first program of these names. */
export function programOf(names: readonly string[], debianPackage: string): string {
  const found = onPath(names)
  if (found) return found
  install(names[0]!, debianPackage)
  const installed = onPath(names)
  if (!installed) throw new Error(`${debianPackage} was installed, yet ${names[0]} is not on the PATH.`)
  return installed
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

export function install(program: string, debianPackage: string): void {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0)
    throw new Error(`The tests need ${program}: install it and put it on the PATH.`)
  process.stderr.write(`${program} is missing; installing it: apt-get install -y ${debianPackage}\n`)
  const update = `${aptGet} update`
  const add = `${aptGet} -o DPkg::Lock::Timeout=600 install -y --no-install-recommends ${debianPackage}`
  // Several processes may miss something at once, and apt-get does not wait for another one.
  const { status } = spawnSync('/usr/bin/flock', [aptGet, 'sh', '-c', `${update} && ${add}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // RUNLEVEL: servers are installed without being started.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  })
  if (status !== 0) throw new Error(`${debianPackage} could not be installed.`)
}
