import type { Text } from '../en/portal.ts'
import { accountText } from './account.ts'
import { signInText } from './sign-in.ts'
import { studentText } from './student.ts'

const ourFault = 'Bei uns ist etwas schiefgegangen. Bitte versuchen Sie es noch einmal.'

export const text: Text = {
  loading: 'Einen Moment\u00a0…',
  late: 'Diese Seite braucht JavaScript, und das Laden dauert lange.',
  skip: 'Zum Inhalt springen',
  language: 'Sprache',

  nav: {
    label: 'Hauptmenü',
    home: (name) => `${name}, Startseite`,
    profile: 'Profil',
    classes: 'Kurse',
    card: 'Ausweis',
    calendar: 'Kalender',
    about: 'Über mich',
    account: 'Mein Konto',
    sessions: 'Geräte',
    data: 'Meine Daten',
    signOut: 'Abmelden',
  },

  footer: {
    about: (school) =>
      `Chiron ist der Zugangsdienst der tierärztlichen Hochschule${school === null ? '' : ` (${school})`}.`,
    help: 'Hilfe',
    privacy: 'Datenschutz',
    developers: 'Für die Entwicklung:',
    reference: 'API-Referenz',
    mailbox: 'Postfach',
    problems: 'Fehler',
  },

  offline: 'Sie sind offline. Die Anzeige ist möglicherweise nicht aktuell.',
  retry: 'Noch einmal versuchen',
  retryIn: (time) => `Sie können es in ${time} noch einmal versuchen.`,
  cancel: 'Abbrechen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  instance: (id) => `Wenn Sie um Hilfe bitten, nennen Sie diese Nummer: ${id}`,
  stale: 'Die Anzeige ließ sich nicht aktualisieren. Sie sehen einen früheren Stand.',

  timesElsewhere: (day, time) =>
    `Alle Zeiten sind in der Zeitzone der Hochschule angegeben. Dort ist es jetzt ${time} (${day}).`,

  staleSince: (time) => `Stand: ${time}. Seitdem ließ sich die Anzeige nicht aktualisieren.`,

  problems: {
    unreachable:
      'Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung; Ihre Eingaben bleiben erhalten.',
    unavailable: 'Der Dienst ist gerade nicht verfügbar. Bitte versuchen Sie es gleich noch einmal.',
    'internal-error': ourFault,
    'too-many-requests': 'Zu viele Versuche in kurzer Zeit.',
    timeout: 'Das hat zu lange gedauert. Bitte versuchen Sie es noch einmal.',
    'invalid-request': 'Etwas in den Angaben stimmt nicht. Bitte prüfen Sie sie.',
    'malformed-json': ourFault,
    'unsupported-version': 'Diese Seite ist veraltet. Bitte laden Sie sie neu.',
    unauthenticated: 'Bitte melden Sie sich wieder an.',
    'invalid-token': 'Bitte melden Sie sich wieder an.',
    'session-ended': 'Sie wurden abgemeldet. Bitte melden Sie sich wieder an.',
    'otp-incorrect': 'Das ist nicht der richtige Code.',
    'otp-unusable': 'Dieser Code gilt nicht mehr. Fordern Sie einen neuen an.',
    forbidden: 'Ihr Konto hat darauf keinen Zugriff.',
    'recent-sign-in-required': 'Bitte bestätigen Sie mit einem neuen Code, dass Sie es sind.',
    'passkey-unusable':
      'Dieser Passkey kann nicht verwendet werden. Bitte melden Sie sich mit einem Code an.',
    'passkey-exists': 'Auf diesem Gerät gibt es schon einen Passkey für Ihr Konto.',
    'not-found': 'Hier gibt es nichts.',
    'method-not-allowed': ourFault,
    conflict: 'Das ist im Moment nicht möglich. Bitte laden Sie die Seite neu und sehen Sie nach.',
    'roster-moved-on': 'Die Liste hat sich inzwischen geändert. Bitte prüfen Sie noch einmal.',
    'body-too-large': 'Das ist zu lang.',
    'unsupported-media-type': ourFault,
    'headers-too-large': ourFault,
  },

  fields: {
    email: 'E-Mail-Adresse',
    firstname: 'Vorname',
    lastname: 'Nachname',
    wrongEmail: 'Das sieht nicht nach einer E-Mail-Adresse aus. Beispiel: ada@example.org',
    wrongName:
      'Bitte geben Sie einen Namen mit 1 bis 100 Zeichen ein, mit mindestens einem Buchstaben und ohne /, @ und www.',
  },

  notFound: {
    title: 'Seite nicht gefunden',
    lead: 'Vielleicht ist der Link veraltet oder falsch abgetippt.',
    home: 'Zur Startseite',
  },

  broken: {
    title: 'Etwas ist schiefgegangen',
    lead: 'Auf dieser Seite ist ein Fehler aufgetreten. Meist hilft es, sie neu zu laden.',
    reload: 'Seite neu laden',
  },

  ...signInText,
  ...accountText,
  ...studentText,
}
