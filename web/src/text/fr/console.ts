import type { ConsoleText } from '../en/console.ts'
import { counted } from './console-counted.ts'
import { eventsText } from './console-events.ts'
import { peopleText } from './console-people.ts'
import { programsText } from './console-programs.ts'
import { rosterText } from './console-roster.ts'

export const text: ConsoleText = {
  name: 'Console',

  nav: {
    home: (name) => `${name}, console, vue d’ensemble`,
    '': 'Vue d’ensemble',
    people: 'Personnes',
    mail: 'Courriels',
    roster: 'Liste',
    events: 'Événements',
    refusals: 'Comptes refusés',
    providers: 'Comptes de l’école',
    webhooks: 'Webhooks',
    applications: 'Applications',
    staff: 'Personnel',
  },

  toOverview: 'Retour à la vue d’ensemble',

  signIn: {
    title: 'Se connecter à la console',
    lead: 'Pour le personnel de l’école. Nous vous envoyons un code par e-mail.',
    portal: 'Les vétérinaires et les étudiants se connectent ici',
    otherRole: 'La console est réservée au personnel',
    otherRoleLead: (name) =>
      `Dans ce navigateur, ${name} est connecté au portail. Pour utiliser la console, déconnectez-vous du portail, puis connectez-vous en tant que membre du personnel.`,
    change: 'Se déconnecter et changer de compte',
    toPortal: 'Retour au portail',
  },

  rights: { support: 'Assistance', registrar: 'Scolarité', admin: 'Administration' },

  rightsMean: {
    support: 'les personnes, leurs appareils et leurs courriels',
    registrar: 'la liste des étudiants',
    admin: 'tout, y compris le personnel, les événements et les webhooks',
  },

  nothingAllowed: 'Vos droits ne couvrent pas cette page. Adressez-vous à un administrateur.',
  more: 'Afficher la suite',
  none: 'Rien ici.',
  updated: (time) => `État à ${time}`,
  you: 'vous',
  unnamed: 'sans nom',

  overview: {
    title: 'Vue d’ensemble',
    verdicts: {
      well: 'Tout va bien',
      wrong: 'Il y a un problème',
      'not-set-up': 'Tout va bien, mais tout n’est pas configuré',
    },
    wrong: (headline: string) => `Problème : ${headline}`,
    states: { well: 'En ordre', wrong: 'Problème', 'not-set-up': 'Non configuré' },
    signIns: 'Connexions',
    lastHour: 'Dernière heure',
    lastDay: 'Dernières 24 heures',
    picture: (most) =>
      `Connexions par heure sur les dernières 24 heures ; ${most} pendant l’heure la plus chargée`,
    hour: (from, count) => `${from} : ${count}`,
    noSignIns: 'Personne ne s’est connecté au cours des dernières 24 heures.',
    mail: 'Courriels',
    unsent: 'En attente d’envoi',
    oldest: 'Le plus ancien attend depuis',
    failed: 'Échecs en 24 heures',
    mailGood: 'Les courriels partent.',
    mailWrong: { stuck: 'aucun courriel ne part', failing: 'de nombreux courriels n’arrivent pas' },
    mailReasons: {
      caught:
        'Aucun serveur de courriel n’est configuré : les courriels restent dans la boîte de développement. Définissez CHIRON_SMTP_URL pour les envoyer.',
      stuck:
        'Aucun e-mail n’est parti depuis plusieurs minutes : personne ne reçoit de code. Prévenez immédiatement le responsable du serveur de courriel.',
      failing: 'De nombreux courriels n’ont pas pu être remis. La liste indique lesquels et pourquoi.',
      slow: 'Les courriels ont du retard. Si cela dure, prévenez le responsable du serveur de courriel.',
      'some-failed': 'Certains courriels n’ont pas pu être remis. La liste indique lesquels et pourquoi.',
    },
    toMail: 'Voir les courriels en échec',
    attack: 'Attaques',
    attackWrong: 'quelqu’un cherche à deviner des codes',
    calm: 'Personne n’essaie de deviner des codes.',
    attacked:
      'Quelqu’un essaie de deviner des codes. Jusqu’à la fin de l’attaque, les nouveaux codes ont huit chiffres et certaines personnes doivent redemander un code. Personne n’est bloqué et vous n’avez rien à faire. Si cela dure des heures, prévenez le responsable du service.',
    wrongCodes: 'Codes erronés depuis une heure',
    wrongCodesDay: 'Codes erronés depuis un jour',
    ofThreshold: (count: string, threshold: string) => `${count} (seuil d’attaque : ${threshold})`,
    toEvents: 'Voir les événements',
    roster: 'Liste des étudiants',
    since: 'En vigueur depuis',
    checked: 'Dernière comparaison avec un fichier',
    generation: 'Numéro',
    newestFile: 'Dernier fichier à la source',
    nextFetch: 'Prochaine récupération',
    rosterWrong: {
      'never-imported': 'aucun étudiant ne peut se connecter',
      'no-students': 'aucun étudiant ne peut se connecter',
      overdue: 'aucun fichier plus récent n’arrive',
      'fetch-stopped': 'le dernier fichier n’a pas été importé',
      'fetch-late': 'la récupération n’a pas eu lieu',
    },
    rosterReasons: {
      'never-imported': 'Aucune liste n’a encore été importée : aucun étudiant ne peut se connecter.',
      'no-students': 'La liste ne contient aucun étudiant : aucun étudiant ne peut se connecter.',
      overdue:
        'Aucun fichier plus récent n’est arrivé depuis plusieurs jours. Vérifiez que le système de l’école l’exporte toujours.',
      'fetch-stopped':
        'La dernière récupération a été mise en attente, a été refusée ou a échoué. Le rapport envoyé par courriel indique quoi faire.',
      'fetch-late': 'La prochaine récupération aurait déjà dû avoir lieu.',
    },
    rosterFine: 'Les étudiants et les cours viennent de cette liste.',
    toRoster: 'Aller à la liste',
    webhooks: 'Webhooks',
    webhooksNone: 'Il n’y a aucun webhook.',
    webhooksFine: 'Aucun webhook n’est en échec.',
    webhooksFail: (n, shown) =>
      counted(
        n,
        shown,
        'webhook ne reçoit pas ses événements.',
        'webhooks ne reçoivent pas leurs événements.',
      ),
    toWebhooks: 'Aller aux webhooks',
    people: 'Personnes',
    counted: (time) => `Comptées à ${time}`,
    nobody: 'Il n’y a encore personne.',
    checkAgain: (n, shown) =>
      `${counted(n, shown, 'vétérinaire vérifié a changé', 'vétérinaires vérifiés ont changé')} de nom ou d’adresse depuis. À vérifier de nouveau.`,
    toPeople: 'Chercher quelqu’un',
    service: 'Ce service',
    version: 'Version',
    store: 'Base de données',
    schema: 'Schéma',
  },

  roles: { veterinarian: 'Vétérinaire', student: 'Étudiant', staff: 'Personnel' },
  rolesMany: { veterinarian: 'Vétérinaires', student: 'Étudiants' },

  statuses: {
    pending: 'jamais connecté',
    active: 'actif',
    inactive: 'inactif dans la liste',
    suspended: 'suspendu',
    closed: 'fermé',
  },

  statusesMany: {
    pending: 'jamais connectés',
    active: 'actifs',
    inactive: 'inactifs dans la liste',
    suspended: 'suspendus',
    closed: 'fermés',
  },

  ...peopleText,
  ...eventsText,
  ...programsText,
  ...rosterText,
}
