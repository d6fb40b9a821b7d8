/**
 * The user that the checks run as. Root may read and write everything, so it would miss permission problems of the
 * service's user. When run by root, the doctor switches to that user first.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { type Finding, good, warning } from './doctor.ts'

const unitFolders = ['/etc/systemd/system', '/run/systemd/system', '/usr/lib/systemd/system']

export interface Service {
  /** The name for systemctl. */
  readonly unit: string
  readonly user: string
}

/** @param envFile the file that the settings were read from */
export function becomeServiceUser({ user }: Service, envFile: string | undefined): Finding[] {
  if (process.getuid?.() !== 0) return [good('settings', `checked as ${ownName()}`)]
  if (!become(user))
    return [
      warning(
        'settings',
        'checked as root, who may write everywhere: the permissions of the service are unknown',
        'run it as the user of the service',
      ),
    ]
  const found = [good('settings', `checked as ${user}, the user of the service`)]
  if (envFile !== undefined && !mayRead(envFile))
    found.push(
      warning(
        'settings',
        `${user} may not read ${envFile}, so commands only work as root`,
        `run chgrp ${user} ${envFile} && chmod 640 ${envFile}`,
      ),
    )
  return found
}

export function ownName(): string {
  try {
    return userInfo().username
  } catch {
    // A user without a name, as in a container.
    return `user ${process.getuid?.()}`
  }
}

/** The service with these settings: `chiron`, or one of several schools, `chiron@SCHOOL`. */
export function serviceOf(envFile: string | undefined, readUnit = installedUnit): Service {
  const setting = (unit: string, name: string) =>
    new RegExp(`^${name}=(.+)$`, 'm').exec(readUnit(unit))?.[1]?.trim()
  const [before, after] = setting('chiron@.service', 'EnvironmentFile')?.split('%i') ?? []
  const file = envFile === undefined ? '' : resolve(envFile)
  const isOfSchool =
    before !== undefined &&
    after !== undefined &&
    file !== setting('chiron.service', 'EnvironmentFile') &&
    file.startsWith(before) &&
    file.endsWith(after)
  if (!isOfSchool) return { unit: 'chiron', user: setting('chiron.service', 'User') ?? 'chiron' }
  const school = file.slice(before.length, -after.length)
  return { unit: `chiron@${school}`, user: setting('chiron@.service', 'User')!.replace('%i', school) }
}

/** Empty if there is none, or if this user may not read it. */
function installedUnit(name: string): string {
  const file = unitFolders.map((folder) => `${folder}/${name}`).find(mayRead)
  return file === undefined ? '' : readFileSync(file, 'utf8')
}

/** False if there is no such user. */
function become(user: string): boolean {
  const idsOf = (which: '-u' | '-g' | '-G') => {
    const { status, stdout } = spawnSync('id', [which, '--', user], { encoding: 'utf8' })
    return status === 0 ? stdout.trim().split(' ').map(Number) : []
  }
  const [[uid], [gid], groups] = [idsOf('-u'), idsOf('-g'), idsOf('-G')]
  if (uid === undefined || gid === undefined) return false
  process.setgroups!(groups)
  process.setgid!(gid)
  process.setuid!(uid)
  return true
}

function mayRead(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}
