// Resources of the installer and their fields: one row for every type, field and part, by its table.

export const FIELD_ROWS = {
  // Shared types
  'types/VdiId': 'string, pattern ^[a-zA-Z0-9_-]+$',
  'types/InstallTargetID': 'string, length 5..32, one of the configured project identifiers',
  'types/UserId': 'integer int64, 1..9223372036854776000',
  'types/Visibility': 'private, protected, public, controlled = protected with 0 days to approve; default private',
  'types/DatasetTypeInput': 'name* 3..128, version* 1..32',
  'types/DatasetTypeOutput': 'name* min 3, version* min 1, category* min 3',
  'types/datetime': 'timestamp string',

  // Dataset metadata (request part details, create)
  'details/installTargets': 'array of InstallTargetID, unique; required',
  'details/name': '3..1024; required',
  'details/summary': '3..4000; required',
  'details/description': 'string',
  'details/origin': '3..256; required',
  'details/dependencies':
    'unique; resourceIdentifier* 3..50, resourceDisplayName* 3..100, resourceVersion* 1..50; absent or null = empty',
  'details/publications': 'unique; identifier* 3..30, type pmid|doi default pmid, citation, isPrimary (at most one)',
  'details/contacts':
    'unique; names 1..300, isPrimary (at most one), email 5..4000, affiliation max 4000, country max 200',
  'details/projectName': '1..256; conditional',
  'details/programName': '1..256; conditional',
  'details/linkedDatasets': 'unique; datasetUri* string, sharesRecords* boolean',
  'details/experimentalOrganism': 'species*, strain*; conditional',
  'details/hostOrganism': 'species*, strain*',
  'details/datasetCharacteristics':
    'studyDesign, studyType, countries .. sampleTypes unique 3..128, years 1500..2500, participantAges 1..128',
  'details/externalIdentifiers':
    'dois {doi* 6..128}, hyperlinks {url* 7..200, description max 4000}, bioprojectIds {id* 4..64}',
  'details/funding': 'unique; agency* 3..256, awardNumber* 3..64',
  'details/shortAttribution': '3..40',
  'details/daysForApproval': '-1..365, default -1',
  'details/dataDisclaimer': 'string',
  'details/datasetSources': 'unique; url* min 10, version* 1..128',
  'details/type': 'DatasetTypeInput; required',
  'details/visibility': 'Visibility; default private',

  // Conditional requirements
  'conditions/1':
    'contact fields of a primary contact, of microbiome and clinical-epidemiology targets, of public datasets',
  'conditions/2': 'projectName and programName for microbiome and clinical-epidemiology targets',
  'conditions/3':
    'experimentalOrganism for genomics, vector and microbiome targets, not for clinical-epidemiology ones',
  'conditions/4': 'studyDesign and studyType for clinical-epidemiology targets',

  // Other multipart parts (create)
  'parts/dataFile': 'array of file; prose calls it file; raw, .zip, .tar.gz or .tgz',
  'parts/url': 'URL of a file of an allowed upload type',
  'parts/docFile': 'array of file',
  'parts/dataPropertiesFile': 'array of file',
  'parts/file or url': 'exactly one must be present; both are 400',

  // Dataset listing item
  'listing/datasetId': 'VdiId; required',
  'listing/owner': 'userId*, firstName, lastName, email, affiliation; required',
  'listing/type': 'DatasetTypeOutput; required',
  'listing/visibility': 'Visibility; required',
  'listing/name': '3..1024; required',
  'listing/origin': '3..256; required',
  'listing/installTargets': 'unique InstallTargetID; required',
  'listing/status': 'status block; required',
  'listing/shares': 'userId*, firstName*, lastName*, affiliation*, accepted*; required',
  'listing/fileCount': 'number of uploaded files; required',
  'listing/fileSizeTotal': 'sum of sizes; required',
  'listing/created': 'datetime; required',
  'listing/summary': '3..4000; required',
  'listing/description': 'string',
  'listing/originalId': 'VdiId',

  // Status block
  'status/upload.status': 'running, success, rejected, failed',
  'status/upload.message': 'string',
  'status/import.status': 'queued, in-progress, complete, invalid, failed',
  'status/import.messages': 'array of string',
  'status/install[]': 'installTarget*; meta* and data each {status*, messages[]}',
  'status/upload running': 'taken in, not processed yet',
  'status/upload success': 'processed',
  'status/upload rejected': 'validation or security concern',
  'status/upload failed': 'system error',
  'status/import queued': 'waiting in queue',
  'status/import in-progress': 'being processed',
  'status/import complete': 'imported and ready for installation',
  'status/import invalid': 'failed import validation (bad user input)',
  'status/import failed': 'import failed from an internal error',
  'status/install queued': 'install status value',
  'status/install running': 'install status value',
  'status/install complete': 'install status value',
  'status/install failed-validation': 'install status value',
  'status/install failed-installation': 'install status value',
  'status/install ready-for-reinstall': 'install status value',
  'status/install missing-dependency': 'install status value',

  // Dataset details
  'dataset/metadata': 'all create-metadata fields, type as DatasetTypeOutput',
  'dataset/datasetId': 'VdiId; required',
  'dataset/visibility': 'required',
  'dataset/owner': 'as in the listing; required',
  'dataset/created': 'datetime; required',
  'dataset/sourceUrl': 'string min 10, when uploaded by URL',
  'dataset/revisionHistory':
    'originalId*, revisions* {action*, timestamp*, revisionId*, revisionNote* 10..4096, fileListUrl*}',
  'dataset/shortName': '3..20; required',
  'dataset/relatedDatasets': 'unique; datasetId*, type*; by project name, program name or publication',

  // Revision request body
  'revision/wrappers':
    'externalIdentifiers.*, funding, shortAttribution, daysForApproval, dataDisclaimer, datasetSources as {value}',
  'revision/origin': '3..256; required',
  'revision/revisionNote': '10..4096; required',
  'revision/dataFile': 'as in create',
  'revision/url': 'incompatible with the file part',
  'revision/docFile': 'as in create',

  // File listing
  'files/upload': 'zipSize*, contents* {fileName*, fileSize*}; required',
  'files/install': 'same shape',
  'files/documents': 'array of {fileName*, fileSize*}',
  'files/datasetProperties': 'array of the same (1.8.0); variableProperties in 1.7.0',
  'files/zipSize before import': '-1',

  // Share offer
  'offer/datasetId': 'VdiId; required',
  'offer/owner': 'as in the listing; required',
  'offer/shareStatus': 'open, accepted, rejected; required',
  'offer/type': 'DatasetTypeOutput; required',
  'offer/installTargets': 'unique InstallTargetID; required',

  // Plugin info
  'plugin/pluginName': 'required',
  'plugin/dataTypes': 'name*, version*, category*, maxFileSize*, usesDataProperties*, allowedFileExtensions*; required',
  'plugin/installTargets': 'empty or absent = usable on any project',
} as const;
