# CPack writes a tar archive in the order in which the file system lists its folders; this writes it again, sorted by name, so that
# two machines make the same bytes of the same files. With SOURCE_DATE_EPOCH that is the time of every file.
set(options --sort=name --owner=0 --group=0 --numeric-owner)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
    list(APPEND options --mtime=@$ENV{SOURCE_DATE_EPOCH})
endif()
set(folder ${CPACK_TEMPORARY_DIRECTORY}-sorted)
foreach(archive ${CPACK_PACKAGE_FILES})
    if(archive MATCHES "\\.tar\\.gz$")
        file(REMOVE_RECURSE ${folder})
        file(MAKE_DIRECTORY ${folder})
        execute_process(COMMAND tar -xpzf ${archive} -C ${folder} COMMAND_ERROR_IS_FATAL ANY)
        file(GLOB top RELATIVE ${folder} ${folder}/*)
        execute_process(COMMAND tar ${options} -C ${folder} -cf - ${top} COMMAND gzip -9n
            OUTPUT_FILE ${archive} COMMAND_ERROR_IS_FATAL ANY)
        file(REMOVE_RECURSE ${folder})
    endif()
endforeach()
