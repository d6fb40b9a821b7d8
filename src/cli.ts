/** Parses the command line. Errors are one line on stderr and an exit code, 1 unless docs/commands.md says another. */
import cluster from 'node:cluster'
import { Command } from 'commander'
import { AppError, storeOutOfReach, UsageError } from './errors.ts'
import { printAside, printFailure } from './operate/commands/output.ts'
import { packageVersion } from './version.ts'

// Loaded on demand, so that the service starts without the roster code.
const roster = () => import('./operate/commands/roster.ts')

/** One id in 64 begins with a hyphen, and would be taken for an option. No argument can hold this character. */
const mark = '\0'

/** How long a failed command may take to close what it has open. */
const openHandlesPatienceMs = 500

// An import must not end because its output goes nowhere.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
  // Whoever read it is gone, as with `| head`.
  if (code === 'EPIPE') return
  printAside(`the output could not be written (${code})`)
  process.exitCode = 1
})

const program = new Command('chiron')
  .description('The access service of a veterinary school')
  .version(packageVersion())
  .showSuggestionAfterError(false)
  .configureOutput({
    outputError: (text) =>
      printAside(`${text.replace(/^error: /, '').trim()}; --help after a command says what it takes`),
  })

program
  .command('serve')
  .description('run the service')
  .option('--json', 'log as JSON, also on a terminal')
  .action(async (options) => (await import('./operate/commands/serve.ts')).serve(options))
program
  .command('migrate')
  .description('bring the store up to date')
  .option('--plan', 'say what would run, and change nothing')
  .action(async (options) => (await import('./operate/commands/migrate.ts')).migrateCommand(options))

const rosterCommand = program.command('roster').description('the school’s roster, as OneRoster CSV')
const withReport = (command: Command) =>
  command
    .option('--json', 'answer as JSON lines')
    .option('--verbose', 'every change field by field, and every finding')
    .option('--report <file>', 'write a report that can be sent to the registrar')
    .option('--bulk', 'the set is the whole roster: whoever is not in it leaves')
    .option('--delta', 'the set has only changes')
    .option('--match <key>', 'keep accounts by number or address where sourcedIds have changed')
    .option('--skip-bad-rows <number>', 'leave out bad rows, if there are at most so many')
withReport(
  rosterCommand.command('check <file>').description('show what importing a zip or folder would do'),
).action(async (file, options) => (await roster()).rosterCheck(file, options))
withReport(rosterCommand.command('import <file>').description('show the plan, ask, and import'))
  .option('--yes', 'do not ask')
  .option('--allow <holds>', 'import although it is held for these, with commas between')
  .action(async (file, options) => (await roster()).rosterImport(file, options))
withReport(
  rosterCommand.command('fetch').description('take the newest set from CHIRON_ROSTER_SOURCE, and import it'),
)
  .option('--allow <holds>', 'import although it is held for these, with commas between')
  .option('--again', 'also if it is the set from last time')
  .option('--report-always', 'mail a report also when all is well')
  .action(async (options) => (await import('./operate/commands/roster-fetch.ts')).rosterFetch(options))
rosterCommand
  .command('undo')
  .description('go back to the roster before the last import')
  .option('--to <number>', 'go back to what it was after this number; 0 is an empty roster')
  .option('--verbose', 'name everybody who leaves, comes back or changes')
  .option('--json', 'answer as JSON lines')
  .option('--yes', 'do not ask')
  .action(async (options) => (await roster()).rosterUndo(options))
rosterCommand
  .command('history')
  .description('what was imported when, newest first')
  .option('--json', 'answer as JSON lines')
  .action(async (options) => (await roster()).rosterHistory(options))

rosterCommand
  .command('correct [student]')
  .description('put one student right until the file does; an id, number or address')
  .option('--email <address>', 'the right address')
  .option('--firstname <name>', 'the right first name')
  .option('--lastname <name>', 'the right last name')
  .option('--remove', 'take the correction back')
  .option('--list', 'show all corrections')
  .option('--json', 'answer as JSON lines')
  .action(async (student, options) => (await roster()).rosterCorrect(student, options))

const people = () => import('./operate/commands/people.ts')
const peopleCommand = program
  .command('people')
  .description('veterinarians and students; <who> is an id, an address or a student number')
peopleCommand
  .command('find <text>')
  .description('by words of a name, an address or a number')
  .option('--role <role>', 'veterinarian or student')
  .option('--status <status>', 'such as active or suspended')
  .option('--limit <number>', 'how many at most (50)')
  .option('--after <id>', 'the next page')
  .action(async (text, options) => (await people()).findPeople(text, options))
const about = (name: string, description: string) =>
  peopleCommand.command(`${name} <who>`).description(description)
about('show', 'profile, sessions, deliveries and events').action(async (who, options) =>
  (await people()).showPerson(who, options),
)
about('suspend', 'keep somebody out, and end their sessions')
  .option('--reason <text>', 'why')
  .action(async (who, options) => (await people()).suspendPerson(who, options))
about('reactivate', 'let somebody in again')
  .option('--reason <text>', 'why')
  .action(async (who, options) => (await people()).reactivatePerson(who, options))
about('sign-out', 'end all sessions').action(async (who, options) =>
  (await people()).signOutPerson(who, options),
)
about('verify', 'say that the school has checked who a veterinarian is')
  .option('--note <text>', 'how it was checked')
  .action(async (who, options) => (await people()).verifyPerson(who, options))
about('unverify', 'take that back')
  .option('--note <text>', 'why')
  .action(async (who, options) => (await people()).unverifyPerson(who, options))
peopleCommand
  .command('change-address <who> <address>')
  .description('for a veterinarian who lost a mailbox; both addresses are told')
  .option('--reason <text>', 'why')
  .action(async (who, address, options) => (await people()).changeAddressOf(who, address, options))
about('close', 'close a veterinarian’s account and erase what is personal')
  .option('--reason <text>', 'why')
  .option('--yes', 'this cannot be undone')
  .action(async (who, options) => (await people()).closePerson(who, options))
about('export', 'everything held about somebody, as JSON').action(async (who, options) =>
  (await people()).exportPerson(who, options),
)

const staff = () => import('./operate/commands/staff.ts')
const staffCommand = program.command('staff').description('who runs the school’s side')
staffCommand
  .command('add <address>')
  .description('add a member of staff')
  .option('--name <name>', 'first and last name')
  .option('--may <rights>', 'support, registrar, admin; with commas between')
  .action(async (address, options) => (await staff()).addStaff(address, options))
staffCommand
  .command('list')
  .description('all members of staff')
  .action(async (options) => (await staff()).listStaff(options))
staffCommand
  .command('change <who>')
  .description('change name or rights; <who> is an id or address')
  .option('--name <name>', 'first and last name')
  .option('--may <rights>', 'support, registrar, admin; with commas between')
  .action(async (who, options) => (await staff()).changeStaff(who, options))
staffCommand
  .command('remove <who>')
  .description('remove a member of staff; <who> is an id or address')
  .action(async (who, options) => (await staff()).removeStaff(who, options))

const mail = () => import('./operate/commands/mail.ts')
const mailCommand = program.command('mail').description('what became of mails')
mailCommand
  .command('show <address>')
  .description('all mails to an address in the last 30 days, and what became of them')
  .option('--since <time>', 'such as 2026-11-15, or 36h')
  .option('--limit <number>', 'how many at most (50)')
  .option('--after <id>', 'older ones')
  .action(async (address, options) => (await mail()).showMail(address, options))
mailCommand
  .command('list')
  .description('mails to anybody')
  .option('--failed', 'only those that were given up')
  .option('--state <state>', 'such as deferred, not-sent or bounced')
  .option('--since <time>', 'such as 2026-11-15, or 36h')
  .option('--limit <number>', 'how many at most (50)')
  .option('--after <id>', 'older ones')
  .action(async (options) => (await mail()).listMail(options))
mailCommand
  .command('test <address>')
  .description('send a test mail at once, and say what the mail server answers')
  .action(async (address, options) => (await mail()).testMail(address, options))
mailCommand
  .command('bounced')
  .description('mark a mail as bounced, by the notification on standard input')
  .option('--setup', 'print how bounces reach Chiron, and the secret for mail providers')
  .action(async (options) => (await mail()).bouncedMail(options))

program
  .command('events')
  .description('what has happened, oldest first')
  .option('--follow', 'go on with what happens next')
  .option('--type <types>', 'only these, with commas between')
  .option('--person <who>', 'only of this person: an id, address or number')
  .option('--since <time>', 'such as 2026-11-15, or 36h')
  .option('--after <number>', 'only events with a larger number')
  .option('--limit <number>', 'how many at most')
  .action(async (options) => (await import('./operate/commands/events.ts')).events(options))

program
  .command('backup [file]')
  .description('copy the whole store, while the service runs')
  .option('--to <folder>', 'into this folder, under a name made of the time')
  .option('--keep <number>', 'how many to keep in the folder (14)')
  .option('--yes', 'overwrite the file if it exists')
  .action(async (file, options) =>
    (await import('./operate/commands/backup.ts')).backupCommand(file, options),
  )
program
  .command('restore <file>')
  .description('put a backup in place of the store; stop the service first')
  .option('--yes', 'replace the store that is there')
  .action(async (file, options) =>
    (await import('./operate/commands/restore.ts')).restoreCommand(file, options),
  )
program
  .command('network <which>')
  .description('what a network did: a fingerprint from the log or an event, or an IP address')
  .option('--since <time>', 'events from then on (7d)')
  .option('--limit <number>', 'how many events at most (50)')
  .action(async (which, options) => (await import('./operate/commands/network.ts')).network(which, options))

program
  .command('doctor')
  .description('examine the set-up, and say what to do; changes nothing')
  .option('--from-outside <url>', 'also call the service through its proxy, at this address')
  .option('--rehearse <people>', 'let this many sign in within a minute, on a scratch store')
  .action(async (options) => (await import('./operate/commands/doctor.ts')).doctor(options))
const webhooks = () => import('./operate/commands/webhooks.ts')
const webhooksCommand = program.command('webhooks').description('programs that are told what happens')
const eventsOption = ['--events <events>', 'which events, with commas between; "*" for all'] as const
webhooksCommand
  .command('add <url>')
  .description('add a webhook, and show its secret')
  .option(...eventsOption)
  .action(async (url, options) => (await webhooks()).addWebhook(url, options))
webhooksCommand
  .command('list')
  .description('all webhooks, and how they are')
  .action(async (options) => (await webhooks()).listWebhooks(options))
const ofWebhook = (name: string, description: string) =>
  webhooksCommand.command(`${name} <id>`).description(description)
ofWebhook('deliveries', 'what it got lately, newest events first').action(async (id, options) =>
  (await webhooks()).listDeliveries(id, options),
)
ofWebhook('change', 'change where it leads or what it gets')
  .option('--url <url>', 'where it leads')
  .option(...eventsOption)
  .action(async (id, options) => (await webhooks()).changeWebhook(id, options))
ofWebhook('rotate', 'give it a new secret; the one before is good for another day').action(
  async (id, options) => (await webhooks()).rotateWebhook(id, options),
)
ofWebhook('disable', 'send it nothing more, and drop what waits').action(async (id, options) =>
  (await webhooks()).switchWebhook(id, false, options),
)
ofWebhook('enable', 'send it what happens from now on').action(async (id, options) =>
  (await webhooks()).switchWebhook(id, true, options),
)
ofWebhook('test', 'send it one test event at once, and say what it answers').action(async (id, options) =>
  (await webhooks()).testWebhook(id, options),
)
ofWebhook('remove', 'forget it').action(async (id, options) => (await webhooks()).removeWebhook(id, options))
ofWebhook('replay', 'send again what has happened since a time')
  .option('--since <time>', 'such as 2026-11-15, or 36h')
  .action(async (id, options) => (await webhooks()).replayWebhook(id, options))

const keys = () => import('./operate/commands/keys.ts')
const keysCommand = program.command('keys').description('the keys that sign tokens')
keysCommand
  .command('list')
  .description('which there are, and which signs')
  .action(async (options) => (await keys()).listKeys(options))
keysCommand
  .command('rotate')
  .description('publish a new key, which signs ten minutes later; nobody is signed out')
  .action(async (options) => (await keys()).rotateKeys(options))
keysCommand
  .command('revoke <key>')
  .description('trust a key no longer, because it leaked; tokens that it signed are refused at once')
  .action(async (kid, options) => (await keys()).revokeKey(kid, options))

addCommonOptions(program)
program.hook('preAction', async (_program, command) =>
  (await import('./operate/commands/command.ts')).beforeCommand(command.opts()),
)

/** Every command takes these. */
function addCommonOptions(command: Command): void {
  for (const each of command.commands) addCommonOptions(each)
  if (command.commands.length > 0) return
  if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'answer as JSON')
  command.option('--env-file <file>', 'read settings from this file instead of .env')
}

program.hook('preAction', (_program, command) => {
  command.processedArgs = command.processedArgs.map(withoutMark)
  for (const [name, value] of Object.entries(command.opts())) command.setOptionValue(name, withoutMark(value))
})

try {
  await program.parseAsync(process.argv.slice(2).map(markId), { from: 'user' })
} catch (error) {
  const reason = explain(error)
  // All workers fail for the same reason; the primary reports it once.
  if (cluster.isWorker) process.send?.({ failed: reason }, () => process.exit(1))
  else fail(reason, exitCodeOf(error))
}

function markId(argument: string): string {
  return /^-(?:[\w-]{21}|[\w-]{29}|[\w-]{42})$/.test(argument) ? mark + argument : argument
}

function withoutMark(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(mark) ? value.slice(1) : value
}

function fail(reason: string, exitCode: number): void {
  printFailure(reason, process.argv.includes('--json'))
  // Ends by itself: process.exit() may wait forever for V8's threads (nodejs/node#54918).
  process.exitCode = exitCode
  setTimeout(() => process.exit(), openHandlesPatienceMs).unref()
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return error.exitCode
  return error instanceof AppError && error.code === 'unavailable' ? storeOutOfReach : 1
}

function explain(error: unknown): string {
  if (error instanceof UsageError) return error.message
  if (error instanceof AppError) return `${detailOf(error)} ${causeOf(error)}`.trim()
  const { code, message, ...rest } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE') return `port ${rest.port} is taken: stop the other program, or set CHIRON_PORT`
  // Node's own errors begin with their code.
  return code && !message.includes(code) ? `${message} (${code})` : String(message ?? error)
}

/** What is wrong with a field says more than that one is wrong. */
function detailOf({ code, message, extra }: AppError): string {
  if (!extra.errors || message !== new AppError(code).message) return message
  return extra.errors
    .map(({ pointer, parameter, detail }) =>
      `${(pointer ?? parameter!).replace(/^#\/?/, '')} ${detail}`.trim(),
    )
    .join('; ')
}

function causeOf(error: AppError): string {
  const cause = error.extra.cause as
    | { message?: string; code?: string; errors?: { message: string }[] }
    | undefined
  return cause?.message || cause?.errors?.[0]?.message || cause?.code || ''
}
