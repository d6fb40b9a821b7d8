import type { AccountText } from '../en/account.ts'

export const accountText: AccountText = {
  profile: {
    confirmTitle: 'Ist das Ihr Name?',
    confirmLead:
      'Er wurde bei der Registrierung dieser Adresse angegeben. Wenn Sie ihn bestätigen, reden wir Sie in unseren E-Mails damit an.',
    confirmYes: 'Ja, das ist mein Name',
    confirmNo: 'Nein, Namen ändern',
    confirmed: 'Danke. In unseren E-Mails reden wir Sie künftig mit diesem Namen an.',
    lead: 'Das weiß der Dienst über Sie.',
    details: 'Ihre Angaben',
    name: 'Name',
    since: 'Registriert am',
    edit: 'Namen ändern',
    save: 'Speichern',
    saved: 'Gespeichert.',
    publicPage: 'Ihre öffentliche Seite',
    publicLead: 'Wer diesen Link hat, sieht Ihren Namen und sonst nichts.',
    lostByName:
      'Die Hochschule hat Sie verifiziert. Wenn Sie Ihren Namen ändern, muss sie das wiederholen; bis dahin lassen manche Anwendungen Sie nicht hinein.',
    notVerified: 'Noch nicht verifiziert',
    publicUnverified:
      'Wer diesen Link hat, sieht Ihren Namen und den Hinweis, dass die Hochschule Ihre Identität nicht geprüft hat. Bitten Sie die Hochschule, Sie zu verifizieren.',
    open: 'Öffnen',
    share: 'Teilen',
    publicHidden: 'Verborgen. Niemand kann sie sehen.',
    hide: 'Verbergen',
    show: 'Anzeigen',
  },

  publicProfile: {
    verified: 'Von der Hochschule verifiziert',
    verifiedNote: 'Tierärztin oder Tierarzt. Die Hochschule hat die Identität geprüft.',
    unverifiedNote:
      'Die Hochschule hat die Identität nicht geprüft. Der Name ist so angegeben, wie er eingegeben wurde.',
    none: 'Diese Seite gibt es nicht',
    noneLead:
      'Zu dieser Adresse gibt es kein tierärztliches Konto. Vielleicht ist der Link falsch abgetippt, oder das Konto wurde gelöscht.',
    toPortal: 'Zur Startseite',
  },

  email: {
    change: 'Adresse ändern',
    title: 'Adresse ändern',
    now: (email) => `Ihre Adresse ist ${email}.`,
    field: 'Neue E-Mail-Adresse',
    hint: 'Wir schicken einen Code dorthin, um sicherzugehen, dass Sie dort E-Mails lesen können.',
    sent: (email) => `Wir schicken einen Code an ${email}.`,
    lost: 'Die Hochschule hat Sie verifiziert. Bei einer neuen Adresse muss sie das wiederholen; bis dahin lassen manche Anwendungen Sie nicht hinein.',
    same: 'Das ist bereits Ihre Adresse.',
    confirm: 'Adresse ändern',
    fresh:
      'Ihre Anmeldung liegt schon etwas zurück. Bestätigen Sie zuerst mit einem Code an Ihre jetzige Adresse, dass Sie es sind.',
    goOn: 'Weiter',
    done: (email) => `Ihre Adresse ist jetzt ${email}. Ihre anderen Geräte wurden abgemeldet.`,
    back: 'Zurück zu meinem Profil',
  },

  sessions: {
    title: 'Wo Sie angemeldet sind',
    lead: 'Wenn Sie ein Gerät nicht kennen, melden Sie es ab.',
    here: 'hier',
    lastUsed: (time) => `Zuletzt verwendet: ${time}`,
    since: (day) => `Angemeldet am ${day}`,
    signOutThere: 'Dort abmelden',
    signedOutThere: (device) => `${device} ist abgemeldet.`,
    deviceOn: (program, system) => `${program} auf ${system}`,
    unknownDevice: 'Unbekanntes Gerät',
    everywhere: 'Überall abmelden',
    everywhereTitle: 'Überall abmelden?',
    everywhereLead:
      'Alle Geräte werden abgemeldet, auch dieses. Mit einem neuen Code können Sie sich wieder anmelden.',
  },

  data: {
    title: 'Meine Daten',
    download: 'Meine Daten herunterladen',
    downloadLead:
      'Alles, was der Dienst über Sie gespeichert hat, in einer Datei, die Menschen und Programme lesen können.',
    downloaded: 'Die Datei ist in Ihren Downloads.',
    close: 'Mein Konto löschen',
    closeLead:
      'Ihr Konto und Ihre personenbezogenen Daten werden gelöscht. Das lässt sich nicht rückgängig machen.',
    closeOpen: 'Mein Konto löschen\u00a0…',
    roster:
      'Die Daten der Studierenden stammen aus der Liste der Hochschule. Berichtigungen nimmt das Studierendensekretariat vor.',
  },

  close: {
    title: 'Mein Konto löschen',
    what: 'Wenn Sie Ihr Konto löschen,',
    effects: [
      'werden Ihr Name und Ihre E-Mail-Adresse gelöscht,',
      'verschwindet Ihre öffentliche Seite,',
      'werden alle Geräte abgemeldet,',
      'lässt sich das Konto nicht wiederherstellen; Sie können sich aber neu registrieren.',
    ],
    confirmLabel: (lastname) => `Geben Sie zur Bestätigung Ihren Nachnamen ein: ${lastname}`,
    mismatch: 'Das ist nicht Ihr Nachname.',
    submit: 'Mein Konto endgültig löschen',
    fresh:
      'Ihre Anmeldung liegt schon etwas zurück. Bestätigen Sie mit einem neuen Code, dass Sie es sind; danach wird das Konto gelöscht.',
    keep: 'Mein Konto behalten',
  },
}
