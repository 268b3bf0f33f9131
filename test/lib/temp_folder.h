/*
 * A folder of this process for the files of a test.
 *
 *     temp_folder_make();
 *     config.cert_file = temp_put("cert.pem", text);
 *     ...
 *     temp_folder_remove();
 *
 * Paths are the folder's, until it is removed. What cannot be done ends the process.
 */
#ifndef TEST_TEMP_FOLDER_H
#define TEST_TEMP_FOLDER_H

void temp_folder_make(void);
const char *temp_folder(void);
const char *temp_path(const char *name);
/* Writes the file, over what it held, and gives its path. */
const char *temp_put(const char *name, const char *text);
/* With all files in it. */
void temp_folder_remove(void);

#endif
